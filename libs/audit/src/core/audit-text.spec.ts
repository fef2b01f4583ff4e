import fc from 'fast-check';
import { auditText } from './audit-text';

describe('auditText', () => {
  it.each([
    ['plain "text" of any kind, ä and 語 too', 'plain "text" of any kind, ä and 語 too'],
    ['a\nb\rc\td', String.raw`a\nb\rc\td`],
    [String.raw`a\nb`, String.raw`a\\nb`],
    ['\0\u001b[31m\u007f', String.raw`\x00\x1b[31m\x7f`],
    ['\u0085\u009b', String.raw`\x85\x9b`],
    ['\u2028\u2029', String.raw`\u{2028}\u{2029}`],
    ['\u202eadmin\u2066\u200b\ufeff', String.raw`\u{202e}admin\u{2066}\u{200b}\u{feff}`],
    ['\ud800x\udc00', String.raw`\u{d800}x\u{dc00}`],
    ['😀', '😀'],
    ['\u{e0041}', String.raw`\u{e0041}`],
    ['', ''],
  ])('%j becomes %s', (text, shown) => {
    expect(auditText(text)).toBe(shown);
  });

  it('keeps 1024 characters and says that it cut', () => {
    expect(auditText('x'.repeat(1024))).toBe('x'.repeat(1024));
    expect(auditText('x'.repeat(1025))).toBe(`${'x'.repeat(1024)}...[TRUNCATED]`);
  });

  it('never cuts inside an escape or a pair', () => {
    expect(auditText(`${'x'.repeat(1022)}\n`)).toBe(`${'x'.repeat(1022)}${String.raw`\n`}`);
    expect(auditText(`${'x'.repeat(1023)}\n`)).toBe(`${'x'.repeat(1023)}...[TRUNCATED]`);
    expect(auditText(`${'x'.repeat(1023)}😀`)).toBe(`${'x'.repeat(1023)}...[TRUNCATED]`);
  });

  it('holds nothing that acts on a reader, is bounded, and reads back to what it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const shown = auditText(text);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
        expect(shown.length).toBeLessThanOrEqual(1024 + '...[TRUNCATED]'.length);
        if (shown.endsWith('...[TRUNCATED]')) return;
        expect(readBack(shown)).toBe(text);
      }),
    );
  });
});

function readBack(shown: string): string {
  return shown.replaceAll(
    /\\(?:([nrt\\])|x([0-9a-f]{2})|u\{([0-9a-f]+)\})/g,
    (_all, named: string | undefined, short: string | undefined, long: string | undefined) =>
      named === undefined
        ? String.fromCodePoint(Number.parseInt(short ?? long ?? '', 16))
        : ({ n: '\n', r: '\r', t: '\t', '\\': '\\' }[named] ?? ''),
  );
}
