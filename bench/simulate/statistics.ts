/** Value below or at which a share `part` of the values lie; NaN of nothing. @param sorted ascending. */
export function quantile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(part * sorted.length) - 1));
  return sorted[place] ?? Number.NaN;
}

export function meanOf(values: readonly number[] | Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

export function sortedCopy(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}
