import { validateVersion, versionOfLabel } from './version-validator';

const long = (bytes: number) => 'x'.repeat(bytes);

describe('validateVersion', () => {
  it.each([
    ['42', '42'],
    ['  step-7  ', 'step-7'],
    ['!~', '!~'],
    ['default', 'default'],
    [long(128), long(128)],
    [`\t ${long(128)} \n`, long(128)],
  ])('accepts %.20j', (text, kept) => {
    expect(validateVersion(text)).toMatchObject({ ok: true, version: { text: kept } });
  });

  it.each([
    ['', 'empty', 'weight_version is empty'],
    ['   ', 'empty', 'weight_version is empty'],
    ['\t\n\u2003', 'empty', 'weight_version is empty'],
    [long(129), 'too_long', 'weight_version exceeds 128 bytes'],
    ['é'.repeat(65), 'too_long', 'weight_version exceeds 128 bytes'],
    ...['a b', 'v\u0001', 'v\u007f', 'vé', 'v\n1', 'é'.repeat(64)].map((text) => [
      text,
      'not_printable_ascii',
      'weight_version contains a byte outside printable ASCII',
    ]),
  ])('refuses %.20j', (text, reason, message) => {
    expect(validateVersion(text)).toEqual({ ok: false, reason, message });
  });
});

describe('versionOfLabel', () => {
  it.each([undefined, '', '  ', 'default', ' default '])('%j is no version', (label) => {
    expect(versionOfLabel(label)).toBeUndefined();
  });

  it('default is special in this spelling only', () => {
    expect(versionOfLabel('Default')).toMatchObject({ text: 'Default' });
    expect(versionOfLabel(' 42 ')).toMatchObject({ text: '42', number: 42n });
  });

  it('passes the same check as every other version', () => {
    expect(versionOfLabel('a b')).toMatchObject({ ok: false, reason: 'not_printable_ascii' });
    expect(versionOfLabel(long(129))).toMatchObject({ ok: false, reason: 'too_long' });
  });
});
