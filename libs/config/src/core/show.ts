/** Characters of an offending value repeated in a message; the rest is cut. */
const MAX_SHOWN = 80;

/**
 * A value for an error message: one line, printable, bounded. Never call it with a secret.
 * Plain words appear as they are, anything else as JSON with control characters escaped.
 */
export function show(value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && value.length <= MAX_SHOWN) {
    return value;
  }
  return showJson(value);
}

/** The same with quotes around every string: for a value of the wrong type, `"true"` is not `true`. */
export function showJson(value: unknown): string {
  // JSON.stringify answers undefined for undefined and functions, whatever its type says.
  const json = (JSON.stringify(value) as string | undefined) ?? String(value);
  const cut = json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}…` : json;
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
