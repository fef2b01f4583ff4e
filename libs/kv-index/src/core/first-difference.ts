/** Bytes compared per native call while looking for the first difference. */
const GALLOP = 256;

/** First index at which the bytes differ, relative to `aStart` and 0; `limit` when none does. */
export function firstDifference(a: Buffer, aStart: number, b: Buffer, limit: number): number {
  let done = 0;
  while (done < limit) {
    const step = Math.min(GALLOP, limit - done);
    if (a.compare(b, done, done + step, aStart + done, aStart + done + step) !== 0) {
      while (a[aStart + done] === b[done]) done++;
      return done;
    }
    done += step;
  }
  return limit;
}
