import { parseUrl } from '@smg/protocol';
import { bad, good, type Parsed } from '../parsed';
import { show } from '../show';
import { type Scalar } from './kind';
import { text } from './texts';

const SCHEME = /^(https?|grpcs?|ipc):\/\//;
/** Rank suffix of a data-parallel worker. */
const RANK = /@\d+$/;

/** A refused URL, repeated only when it cannot hold a credential. */
function shown(url: string): string {
  return /[@?]/.test(url) ? 'the URL' : show(url);
}

function check(url: string): Parsed<string> {
  const scheme = SCHEME.exec(url)?.[0];
  if (scheme === undefined) {
    return bad(`${shown(url)} does not start with http:// or https://`);
  }
  const rest = url.slice(scheme.length);
  if (scheme === 'ipc://') {
    return rest === '' ? bad(`${shown(url)} names no socket`) : good(url);
  }
  const authority = rest.replace(RANK, '').split(/[/?#\\]/, 1)[0] ?? '';
  if (authority.includes('@')) {
    return bad('the URL holds a user name or password; give the key with --api-key instead');
  }
  if (parseUrl(`http://${authority}`) === undefined) return bad(`${shown(url)} has no valid host`);
  return good(url);
}

/** URL of an engine; the registry brings it into its canonical form. */
export const workerUrl: Scalar<string> = text({
  label: 'URL',
  rule: 'lower-case http or https scheme (not yet: grpc, grpcs, ipc) and a host; no user or password',
  check,
});
