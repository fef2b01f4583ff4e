/** A prefill engine as it is named at start-up. */
export interface LegEndpoint {
  readonly url: string;
  /** Port of its bootstrap server; undefined when it has none. */
  readonly bootstrapPort: number | undefined;
}

/** Whether a word of `--prefill` follows a URL: a port, or `none`. */
const isPort = (word: string): boolean => /^\d+$/.test(word) || word.toLowerCase() === 'none';

/** Reads the words of `--prefill`: URLs, each perhaps followed by its bootstrap port or `none`. */
export function legEndpoints(words: readonly string[]): readonly LegEndpoint[] {
  const found: LegEndpoint[] = [];
  for (const [index, word] of words.entries()) {
    if (isPort(word)) continue;
    const next = words[index + 1];
    const bootstrapPort = next !== undefined && /^\d+$/.test(next) ? Number(next) : undefined;
    found.push({ url: word, bootstrapPort });
  }
  return found;
}

/** A port must follow a URL, and one at most. @returns position of one that does not, from 1. */
export function strayPort(words: readonly string[]): number | undefined {
  const at = words.findIndex((word, index) => {
    const before = words[index - 1];
    return isPort(word) && (before === undefined || isPort(before));
  });
  return at === -1 ? undefined : at + 1;
}
