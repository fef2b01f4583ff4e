/** The known name closest to a misspelt one, or undefined when none is close. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  // A third of the letters may be wrong; beyond that a suggestion is a guess.
  let limit = Math.max(2, Math.floor(name.length / 3));
  let best: string | undefined;
  for (const candidate of known) {
    const distance = editDistance(name, candidate, limit);
    if (distance < limit || (distance === limit && best === undefined)) {
      best = candidate;
      limit = distance;
    }
  }
  return best;
}

/** Insertions, deletions and substitutions between two words; above `limit` only "more than". */
function editDistance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1;
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const substitution =
        (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const deletion = (previous[column] ?? 0) + 1;
      const insertion = (current[column - 1] ?? 0) + 1;
      current.push(Math.min(substitution, deletion, insertion));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
