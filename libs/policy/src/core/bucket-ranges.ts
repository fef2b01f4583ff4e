// Size ranges of the bucket policy: range i goes up to uppers[i], the last one has no end.
// Source: SMG contract, bucket.

/** Sizes that the first ranges divide evenly. */
const FIRST_SPAN = 4_096;

/** The ranges before anything is known of the traffic. @param count > 0. */
export function evenRanges(count: number): number[] {
  const uppers: number[] = [];
  const width = Math.max(1, Math.floor(FIRST_SPAN / count));
  for (let i = 1; i < count; i++) uppers.push(i * width - 1);
  uppers.push(Infinity);
  return uppers;
}

/**
 * Ranges that would have given each worker about `share` of what was sent.
 * @param sizes ascending.
 */
export function fittedRanges(sizes: Float64Array, count: number, share: number): number[] {
  const uppers: number[] = [];
  let lower = 0;
  let at = 0;
  while (uppers.length < count - 1) {
    let sum = 0;
    let size = lower;
    while (at < sizes.length && sum < share) {
      size = sizes[at++] ?? size;
      sum += size;
    }
    const upper = size > lower ? size : lower + share;
    uppers.push(upper);
    lower = upper + 1;
  }
  uppers.push(Infinity);
  return uppers;
}

/** The range a size falls into. */
export function rangeOf(uppers: readonly number[], size: number): number {
  let from = 0;
  let to = uppers.length - 1;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (size <= (uppers[middle] ?? Infinity)) to = middle;
    else from = middle + 1;
  }
  return from;
}
