/** Values that can be compared: a measure that a round could not take is NaN and is left out. */
export function finite(values: readonly number[]): number[] {
  return values.filter((value) => Number.isFinite(value));
}

/** Median of the finite values; NaN when there is none. */
export function median(values: readonly number[]): number {
  const sorted = finite(values).sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Least of the finite values; NaN when there is none. */
export function minimum(values: readonly number[]): number {
  let least = Number.NaN;
  for (const value of finite(values)) if (!(value >= least)) least = value;
  return least;
}

/** Two ways to compare the same rounds; both NaN when there is nothing to compare. */
export interface Ratio {
  /** Median over rounds of the ratio within a round: noise that lasts a round cancels out. */
  readonly median: number;
  /** Ratio of the two minima: what both cost when nothing disturbed them. */
  readonly ofMinima: number;
}

/** Compares `values` to `baseline`, round by round. */
export function ratio(values: readonly number[], baseline: readonly number[]): Ratio {
  const perRound = values.map((value, round) => value / (baseline[round] ?? Number.NaN));
  return { median: median(perRound), ofMinima: minimum(values) / minimum(baseline) };
}

/** A random order, so that no variant always runs behind the same other. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const pick = Math.floor(random() * (last + 1));
    [order[last], order[pick]] = [order[pick]!, order[last]!];
  }
  return order;
}
