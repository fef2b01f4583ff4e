/**
 * The URL a text spells, or undefined. Not by `URL.canParse`: on Node 20, once compiled, it answers
 * false for texts with characters outside Latin-1 or ASCII that `new URL` reads well.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
