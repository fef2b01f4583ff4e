/** Characters; longer targets are refused. Common servers stop at 8,000 to 16,000. */
export const MAX_TARGET_LENGTH = 16 * 1024;

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;
const SLASH = 0x2f;

/**
 * The target as a path: a client that believes in a proxy names the whole URL, which RFC 9112 wants
 * understood. Whatever is no URL, such as `*`, stays.
 */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target;
  const authority = ABSOLUTE.exec(target)?.[0];
  if (authority === undefined) return target;
  const path = target.slice(authority.length);
  return path.charCodeAt(0) === SLASH ? path : `/${path}`;
}
