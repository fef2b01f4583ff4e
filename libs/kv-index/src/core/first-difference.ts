/** Bytes compared one by one before a native call pays: most edges near the root end or differ there. */
const FEW = 16;
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
  const few = Math.min(FEW, limit);
  let done = 0;
  while (done < few && a[aStart + done] === b[bStart + done]) done++;
  if (done < few) return done;
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
