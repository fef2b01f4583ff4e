// Whitespace as Unicode defines it (White_Space), which is what the wire contract trims by. JavaScript's
// own `trim` and `\s` take U+FEFF for a blank and miss U+0085.
const BLANKS = '\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const LEADING = new RegExp(`^[${BLANKS}]+`);
const ANY = new RegExp(`[${BLANKS}]`);

/** Whether `text` holds a blank anywhere. */
export function hasWhitespace(text: string): boolean {
  return ANY.test(text);
}

/** `text` without the blanks at both ends. */
export function trimWhitespace(text: string): string {
  let end = text.length;
  while (end > 0 && ANY.test(text.charAt(end - 1))) end--;
  return text.slice(0, end).replace(LEADING, '');
}
