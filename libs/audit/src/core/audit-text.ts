/**
 * Texts of the audit record. They are chosen by clients and issuers, and read by people in terminals
 * and by programs line by line; so whatever could act on either is made visible (SMG contract 8.4).
 */

/** Longest text kept, in characters as they stand in the record. */
const LIMIT = 1024;
const CUT = '...[TRUNCATED]';

const PLAIN = /^[ !#-[\]-~]*$/;
/**
 * The backslash, controls (C0, DEL, C1), line and paragraph separators, lone surrogates, and format
 * characters: bidirectional overrides, zero-width ones, tags. They would forge or hide text.
 */
const UNSAFE = /[\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

const NAMED: ReadonlyMap<string, string> = new Map([
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
  ['\\', String.raw`\\`],
]);

/** `\n`, `\x1b`, `\u{202e}`: the character as text. */
function visible(char: string): string {
  const named = NAMED.get(char);
  if (named !== undefined) return named;
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code <= 0xff ? String.raw`\x${hex.padStart(2, '0')}` : String.raw`\u{${hex}}`;
}

/** The text with everything unsafe made visible; cut between characters, never inside an escape. */
export function auditText(text: string): string {
  if (text.length <= LIMIT && PLAIN.test(text)) return text;
  let safe = '';
  for (const char of text) {
    const shown = UNSAFE.test(char) ? visible(char) : char;
    if (safe.length + shown.length > LIMIT) return safe + CUT;
    safe += shown;
  }
  return safe;
}
