/**
 * JSON string literals for the access log. Beyond JSON's own rules, C1 controls, DEL and the two
 * Unicode line separators are escaped as well: a terminal or a line reader may act on them.
 */

/** Marks a value that was cut. */
const CUT = '...[TRUNCATED]';

const UNSAFE = /[\0-\x1f"\\\x7f-\x9f\u2028\u2029\ud800-\udfff]/;
const BEYOND_JSON = /[\x7f-\x9f\u2028\u2029]/g;

/** @param limit longest value kept, in UTF-16 units. */
export function jsonString(value: string, limit: number): string {
  const text = value.length > limit ? value.slice(0, limit) + CUT : value;
  if (!UNSAFE.test(text)) return `"${text}"`;
  // JSON.stringify escapes controls, quotes and lone surrogates.
  return JSON.stringify(text).replace(
    BEYOND_JSON,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
