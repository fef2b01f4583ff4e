/**
 * Whether an answer without a length or chunks, whose end is the end of the connection, was cut: the
 * only trace is that what is there is no whole JSON. Any other type, or an encoded one, passes.
 *
 * @param headers flat list of the answer.
 */
export function isCutJson(headers: readonly string[], body: Buffer): boolean {
  let isJson = false;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]?.toLowerCase();
    if (name === 'content-encoding') return false;
    if (name === 'content-type') isJson = /^\s*application\/json\b/i.test(headers[i + 1] ?? '');
  }
  if (!isJson) return false;
  try {
    JSON.parse(body.toString('utf8'));
    return false;
  } catch {
    return true;
  }
}
