import { parseUrl } from '@smg/protocol';
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type LookupFunction } from 'node:net';
import { JwksError } from './core/jwks-cache';
import { systemCodeOf } from './core/system-code';
import { hostOf, refusalOfAddress, refusalOfUrl } from './core/remote-address';

/** Bytes of a document. */
const MAX_BYTES = 1024 * 1024;
/** Milliseconds for name, connection, head and body together. */
const DEADLINE_MS = 10_000;

/** Every address of a name. */
export type Resolver = (host: string) => Promise<readonly LookupAddress[]>;

const systemResolver: Resolver = (host) =>
  new Promise((resolve, reject) => {
    dnsLookup(host, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });

/** Fetches one JSON document. */
export type FetchJson = (url: string, signal: AbortSignal) => Promise<unknown>;

export interface GuardedFetchOptions {
  readonly resolve?: Resolver;
  readonly deadlineMs?: number;
}

/**
 * A fetch that goes where the contract allows and nowhere else: the addresses a name resolves to are
 * judged, and exactly those are connected to. No redirect is followed, no proxy is used.
 */
export function guardedFetch(options: GuardedFetchOptions = {}): FetchJson {
  const { resolve = systemResolver, deadlineMs = DEADLINE_MS } = options;
  return async (text, signal) => {
    const url = parseUrl(text);
    if (url === undefined) throw new JwksError('refused', 'not a URL');
    const refusal = refusalOfUrl(url);
    if (refusal !== undefined) throw new JwksError('refused', `${url.host}: ${refusal}`);
    const deadline = AbortSignal.timeout(deadlineMs);
    try {
      return await get(url, guardedLookup(resolve), AbortSignal.any([signal, deadline]));
    } catch (error) {
      if (error instanceof JwksError) throw error;
      if (deadline.aborted) {
        throw new JwksError('timeout', `${url.host}: no answer within ${deadlineMs} ms`);
      }
      throw new JwksError(
        'unreachable',
        `${url.host}: ${systemCodeOf(error) ?? 'the connection failed'}`,
      );
    }
  };
}

function guardedLookup(resolve: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    const host = hostname.toLowerCase().replace(/\.$/, '');
    resolve(hostname).then(
      (addresses) => {
        for (const { address } of addresses) {
          const refusal = refusalOfAddress(host, address);
          // One bad address spoils the name: an attacker would only have to be asked often enough.
          if (refusal !== undefined) {
            callback(new JwksError('refused', `${host}: ${refusal}`), '', 4);
            return;
          }
        }
        const [first] = addresses;
        if (first === undefined)
          callback(new JwksError('unreachable', `${host}: ENOTFOUND`), '', 4);
        else if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => {
        callback(error as NodeJS.ErrnoException, '', 4);
      },
    );
  };
}

function get(url: URL, lookup: LookupFunction, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing: ClientRequest = send(
      url,
      {
        agent: false,
        headers: { accept: 'application/json', 'accept-encoding': 'identity' },
        lookup,
        signal,
      },
      (incoming) => {
        resolve(
          readJson(url, incoming).finally(() => {
            // Whatever was not wanted of the answer is not waited for.
            outgoing.destroy();
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function readJson(url: URL, incoming: IncomingMessage): Promise<unknown> {
  const where = `${hostOf(url)}${url.pathname}`;
  if (incoming.statusCode !== 200) {
    throw new JwksError('status', `${where}: status ${incoming.statusCode ?? 0}`);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES)
      throw new JwksError('too_large', `${where}: more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new JwksError('invalid', `${where}: the answer is not JSON`);
  }
}
