/**
 * Seconds a client is ready to wait for an answer: the `wait` of a `Prefer` header (RFC 7240). Where it
 * is given twice the first counts, and one that is no number of seconds counts as none.
 * @param header repeats joined with `, `.
 */
export function preferredWait(header: string | undefined): number | undefined {
  for (const preference of (header ?? '').split(',')) {
    // What follows a semicolon are parameters of the preference.
    const [name, value] = (preference.split(';', 1)[0] ?? '').split('=', 2);
    if (name?.trim().toLowerCase() !== 'wait') continue;
    const seconds = /^"?(\d{1,9})"?$/.exec(value?.trim() ?? '')?.[1];
    return seconds === undefined ? undefined : Number(seconds);
  }
  return undefined;
}
