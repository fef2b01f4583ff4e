const WORDS = [
  'amber basin cedar delta ember fjord grove harbor inlet jetty kelp lagoon meadow north otter',
  'pine quartz ridge slate tide umber valley willow yarrow zenith alder birch cove dune estuary',
]
  .join(' ')
  .split(' ');

/** FNV-1a over UTF-16 code units, 32 bits: quick, and the same everywhere. */
export function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  }
  return hash;
}

/** One generated token: its id and its text. */
export interface Token {
  readonly id: number;
  readonly text: string;
}

/** Token `index` of the answer to a prompt with this hash. */
export function tokenAt(promptHash: number, index: number): Token {
  const id = Math.imul(promptHash ^ (index + 1), 0x9e3779b1) >>> 0;
  const word = WORDS[id % WORDS.length] ?? '';
  return { id: id % 32_000, text: index === 0 ? word : ` ${word}` };
}

/** Tokens in a text: its words. Good enough for usage figures. */
export function countTokens(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}
