import { parseUrl } from '@smg/protocol';
import { bad, good, type Parsed } from '../parsed';
import { show } from '../show';
import { type Scalar } from './kind';
import { text } from './texts';

/** Schemes of applications that show pages, `tauri://localhost` say; a browser keeps their host as it is. */
const OTHER = /^([a-z][a-z0-9+.-]*):\/\/([a-z0-9_.-]+(?::\d{1,5})?)\/?$/i;

function check(value: string): Parsed<string> {
  if (value === '*') return bad('leave the option out to allow any origin');
  if (value.includes('*')) return bad(`${show(value)}: an origin has no wildcard`);
  if (!/^https?:/i.test(value)) {
    const [, scheme, authority] = OTHER.exec(value) ?? [];
    if (scheme === undefined || authority === undefined || scheme.toLowerCase() === 'file') {
      return bad(`${show(value)} is not an origin`);
    }
    return good(`${scheme.toLowerCase()}://${authority}`);
  }
  // The URL parser would forgive what follows, and a browser never sends it.
  const normal = /^https?:\/\/[^/?#@\\\s]+\/?$/i.test(value) ? parseUrl(value)?.origin : undefined;
  return normal === undefined
    ? bad(`${show(value)} is not an origin: scheme, host and, if need be, port`)
    : good(normal);
}

/** Origin of a page as a browser sends it: lower case, no default port, no path. */
export const origin: Scalar<string> = text({
  label: 'origin',
  rule: 'scheme, host and, if need be, port; no path, no wildcard, not `null`',
  check,
});
