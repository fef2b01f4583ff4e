import { parseUrl } from '@smg/protocol';
import { bad, good, type Parsed } from '../parsed';
import { show, showJson } from '../show';
import { type Scalar } from './kind';

/** What stands for a secret wherever a configuration is printed. */
export const MASK = '***';

interface TextSpec {
  readonly label: string;
  readonly rule: string;
  readonly check: (text: string) => Parsed<string>;
}

/** A string; the check may also bring it into its one form. */
export function text({ label, rule, check }: TextSpec): Scalar<string> {
  return {
    label,
    rule,
    parse: check,
    json: (value) =>
      typeof value === 'string' ? check(value) : bad(`expected a string, got ${showJson(value)}`),
    toJson: (value) => value,
  };
}

/** Any string but the empty one. */
export const filled = (label = 'string'): Scalar<string> =>
  text({ label, rule: '', check: (value) => (value === '' ? bad('is empty') : good(value)) });

/** RFC 9110 token, which a header name must be; lower-cased, as Node delivers names. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export const headerName: Scalar<string> = text({
  label: 'header name',
  rule: 'a legal header name; lower-cased',
  check: (value) =>
    TOKEN.test(value) ? good(value.toLowerCase()) : bad(`${show(value)} is not a header name`),
});

/** Bind address: a name or an IP address. `[::1]` may be written with its brackets. */
export const host: Scalar<string> = text({
  label: 'host',
  rule: 'a host name or an IP address, without a port',
  check: (value) => {
    const bare = /^\[([0-9A-Fa-f:.%\w]+)\]$/.exec(value)?.[1] ?? value;
    return /^[0-9A-Za-z._:%-]+$/.test(bare) ? good(bare) : bad(`${show(value)} is not a host`);
  },
});

/** Path on a worker, as it goes into the request line. */
export const urlPath: Scalar<string> = text({
  label: 'path',
  rule: 'starts with /',
  check: (value) =>
    /^\/[\x21-\x7e]*$/.test(value)
      ? good(value)
      : bad(`${show(value)} is not a path that starts with /`),
});

/** Absolute URL of an HTTP server, kept as written: an issuer is compared by its characters. */
export const httpUrl: Scalar<string> = text({
  label: 'URL',
  rule: 'an http or https URL without credentials, query and fragment',
  check: (value) => {
    const url = parseUrl(value);
    if (url === undefined || !/^https?:$/.test(url.protocol)) return bad('is not an http(s) URL');
    if (url.username !== '' || url.password !== '') return bad('has credentials in it');
    return url.search === '' && url.hash === '' && !/[?#]$/.test(value)
      ? good(value)
      : bad('has a query or a fragment');
  },
});

/** Why a text cannot be a key, or undefined. A key travels in a header: printable ASCII only. */
export function keyProblem(key: string): string | undefined {
  if (key === '') return 'is empty';
  if (key === MASK) return `holds the mask ${MASK} instead of a secret`;
  if (key !== key.trim()) return 'starts or ends with a space';
  return /^[\x20-\x7e]+$/.test(key) ? undefined : 'has a character outside printable ASCII';
}

/** A secret: no message ever repeats it, and it prints as the mask. */
export const secret: Scalar<string> = {
  label: 'secret',
  rule: 'printable ASCII, no space at either end',
  parse: readKey,
  json: (value) => (typeof value === 'string' ? readKey(value) : bad('expected a string')),
  toJson: () => MASK,
};

function readKey(key: string): Parsed<string> {
  const problem = keyProblem(key);
  return problem === undefined ? good(key) : bad(problem);
}
