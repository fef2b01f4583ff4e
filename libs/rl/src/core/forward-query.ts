const SELECTOR = 'selector';

/**
 * The query an engine gets: the caller's, without pairs whose raw key is `selector` and without empty
 * pairs. Kept pairs stay byte for byte and in order. Source: SMG RL contract 2.2.
 * @param raw without `?`; empty when there is none.
 */
export function forwardQuery(raw: string): string {
  return raw
    .split('&')
    .filter((pair) => pair !== '' && rawKey(pair) !== SELECTOR)
    .join('&');
}

/** The `selector` parameter of a raw query, decoded as a form is. */
export type SelectorParameter =
  | { readonly kind: 'absent' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'repeated' }
  /** Its percent-encoding is broken. */
  | { readonly kind: 'undecodable' };

export function selectorParameter(raw: string): SelectorParameter {
  let found: string | undefined;
  for (const pair of raw.split('&')) {
    if (decodeForm(rawKey(pair)) !== SELECTOR) continue;
    if (found !== undefined) return { kind: 'repeated' };
    const at = pair.indexOf('=');
    found = at < 0 ? '' : pair.slice(at + 1);
  }
  if (found === undefined) return { kind: 'absent' };
  const text = decodeForm(found);
  return text === undefined ? { kind: 'undecodable' } : { kind: 'text', text };
}

function rawKey(pair: string): string {
  const at = pair.indexOf('=');
  return at < 0 ? pair : pair.slice(0, at);
}

/** `+` is a blank, `%XX` a byte. @returns undefined when that gives no UTF-8. */
function decodeForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
