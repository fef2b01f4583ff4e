import { type LookupAddress } from 'node:dns';
import { MockIdp, type MockIdpMode } from '@smg/testing';
import { guardedFetch } from './guarded-fetch';

const never = new AbortController().signal;
let idp: MockIdp;
beforeAll(async () => {
  idp = await new MockIdp().start();
});
afterAll(() => idp.stop());
afterEach(() => {
  idp.jwksMode = 'ok';
});

const resultOf = (url: string, options = {}): Promise<unknown> =>
  guardedFetch({ deadlineMs: 300, ...options })(url, never).then(
    () => 'ok',
    (error: unknown) => (error as { result?: string }).result,
  );

describe('a guarded fetch', () => {
  it('reads JSON from this machine', async () => {
    expect(await guardedFetch()(idp.jwksUri, never)).toEqual({ keys: [] });
    expect(await resultOf(idp.jwksUri.replace('127.0.0.1', 'localhost'))).toBe('ok');
  });

  it.each<[MockIdpMode, string]>([
    ['error', 'status'],
    ['redirect', 'status'],
    ['garbage', 'invalid'],
    ['huge', 'too_large'],
    ['hang', 'timeout'],
    ['stall', 'timeout'],
    ['reset', 'unreachable'],
    ['wrong-type', 'ok'],
  ])('%s: %s', async (mode, result) => {
    idp.jwksMode = mode;
    expect(await resultOf(idp.jwksUri)).toBe(result);
    expect(idp.counts.other).toBe(0);
  });

  it('says what failed without a word of the answer', async () => {
    idp.jwksMode = 'garbage';
    await expect(guardedFetch()(idp.jwksUri, never)).rejects.toThrow(
      '127.0.0.1/jwks.json: the answer is not JSON',
    );
    await expect(guardedFetch()('http://127.0.0.1:1/x', never)).rejects.toThrow(
      '127.0.0.1:1: ECONNREFUSED',
    );
  });

  it.each(['http://idp.example/x', 'https://10.0.0.1/x', 'https://idp.internal/x', 'nonsense'])(
    'does not go to %s',
    async (url) => {
      const resolve = (): Promise<LookupAddress[]> => {
        throw new Error('resolved');
      };
      expect(await resultOf(url, { resolve })).toBe('refused');
    },
  );

  it('judges what a name resolves to at the connect; one bad address spoils it', async () => {
    const port = new URL(idp.issuer).port;
    const asked: string[] = [];
    const resolving = (...addresses: string[]) => ({
      resolve: (host: string) => {
        asked.push(host);
        return Promise.resolve(addresses.map((address) => ({ address, family: 4 })));
      },
    });
    const before = idp.counts.jwks;
    const url = `https://idp.example:${port}/jwks.json`;
    expect(await resultOf(url, resolving('127.0.0.1'))).toBe('refused');
    expect(await resultOf(url, resolving('8.8.8.8', '10.0.0.1'))).toBe('refused');
    expect(await resultOf(url, resolving())).toBe('unreachable');
    expect(await resultOf(`http://localhost:${port}/jwks.json`, resolving('8.8.8.8'))).toBe(
      'refused',
    );
    expect(asked).toEqual(['idp.example', 'idp.example', 'idp.example', 'localhost']);
    expect(idp.counts.jwks).toBe(before);
  });

  it('ends when told to', async () => {
    idp.jwksMode = 'hang';
    const ending = new AbortController();
    const fetching = guardedFetch()(idp.jwksUri, ending.signal);
    ending.abort();
    await expect(fetching).rejects.toThrow(/ABORT_ERR|the connection failed/);
  });
});
