/** Bytes compared per native call while looking for the first difference. */
const GALLOP = 256;

/** First index at which the bytes differ, relative to `aStart` and `bStart`; `limit` when none does. */
export function firstDifference(
  a: Buffer,
  aStart: number,
  b: Buffer,
  bStart: number,
  limit: number,
): number {
  let done = 0;
  while (done < limit) {
    const step = Math.min(GALLOP, limit - done);
    const from = aStart + done;
    const to = bStart + done;
    if (a.compare(b, to, to + step, from, from + step) !== 0) {
      while (a[aStart + done] === b[bStart + done]) done++;
      return done;
    }
    done += step;
  }
  return limit;
}
