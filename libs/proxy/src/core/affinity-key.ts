const MAX_RID_BYTES = 128;
const UNDERSCORE = 0x5f;

/** A body's `rid` where it can be a key: a string of 1 to 128 bytes. */
export function parseRid(rid: unknown): string | undefined {
  if (typeof rid !== 'string' || rid === '' || rid.length > MAX_RID_BYTES) return undefined;
  return Buffer.byteLength(rid) <= MAX_RID_BYTES ? rid : undefined;
}

/**
 * The conversation a request id belongs to: without a trailing `_r<digits>` (retry) and then a
 * trailing `_t<digits>` (turn). An id that is nothing but suffixes stays as it is.
 */
export function conversationOf(id: string): string {
  const end = withoutSuffix(id, withoutSuffix(id, id.length, 'r'), 't');
  return end === id.length || end === 0 ? id : id.slice(0, end);
}

/** Where `id[0, end)` ends without a trailing `_<letter><digits>`. */
function withoutSuffix(id: string, end: number, letter: string): number {
  let at = end - 1;
  while (at >= 0 && isDigit(id.charCodeAt(at))) at--;
  const hasDigits = at < end - 1;
  const isSuffix =
    hasDigits && at >= 1 && id[at] === letter && id.charCodeAt(at - 1) === UNDERSCORE;
  return isSuffix ? at - 1 : end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
