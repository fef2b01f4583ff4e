import { generateKeyPairSync } from 'node:crypto';
import { Logger } from '@nestjs/common';
import {
  FakeMetrics,
  MockIdp,
  type MockIdpAlgorithm,
  MockIdpKey,
  type MockIdpMode,
} from '@smg/testing';
import { AuthMetrics } from './auth.metrics';
import { type JwtOptions } from './core/auth-options';
import { isToken } from './core/jwt-token';
import { TokenKeeper, type TokenPorts } from './token.keeper';

/** Any moment will do; tokens are made for it. */
const NOW = 1_800_000_000;
const ALGORITHMS: readonly MockIdpAlgorithm[] = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'EdDSA'] as const),
];

let idp: MockIdp;
let metrics: FakeMetrics;
let nowMs: number;
const keys = new Map<string, MockIdpKey>();
const started: TokenKeeper[] = [];

beforeAll(async () => {
  Logger.overrideLogger(false);
  idp = await new MockIdp().start();
  const rsa = await MockIdpKey.make('rsa', 'RS256');
  for (const alg of ALGORITHMS) {
    const key = /^[RP]S/.test(alg) ? rsa.as(alg, alg) : await MockIdpKey.make(alg, alg);
    keys.set(alg, key);
  }
});
afterAll(() => idp.stop());
beforeEach(() => {
  idp.keys.splice(0, idp.keys.length, ...keys.values());
  idp.jwksMode = 'ok';
  idp.discoveryMode = 'ok';
  idp.discovery = {};
  idp.counts.discovery = 0;
  idp.counts.jwks = 0;
  idp.counts.other = 0;
  metrics = new FakeMetrics();
  nowMs = NOW * 1000;
});
afterEach(() => {
  for (const keeper of started.splice(0)) keeper.onModuleDestroy();
});

async function start(jwt: Partial<JwtOptions> = {}, ports: TokenPorts = {}): Promise<TokenKeeper> {
  const keeper = await TokenKeeper.start(
    { issuer: idp.issuer, audience: 'smg', roleClaim: 'roles', roleMapping: [], ...jwt },
    new AuthMetrics(metrics),
    { now: () => nowMs, sleep: () => Promise.resolve((nowMs += 5_000)), ...ports },
  );
  started.push(keeper);
  return keeper;
}

const claims = (more: object = {}): object => ({
  iss: idp.issuer,
  aud: 'smg',
  exp: NOW + 300,
  sub: 'ada',
  roles: ['admin'],
  ...more,
});

function keyOf(alg: string): MockIdpKey {
  const key = keys.get(alg);
  if (key === undefined) throw new Error(`no key for ${alg}`);
  return key;
}

const ADA = { id: 'ada', method: 'jwt', role: 'admin' };

describe('tokens', () => {
  it.each(ALGORITHMS)('%s', async (alg) => {
    const keeper = await start();
    expect(await keeper.verify(keyOf(alg).token(claims()))).toEqual(ADA);
    const [head, body] = keyOf(alg).token(claims()).split('.');
    const other = keyOf(alg)
      .token(claims({ sub: 'eve' }))
      .split('.')[2];
    expect(await keeper.verify(`${head}.${body}.${other}`)).toBe('jwt_signature');
  });

  it('the key binds the algorithm', async () => {
    const keeper = await start();
    // The same RSA key, another algorithm than its entry allows.
    const key = keyOf('PS256').as('RS256', 'PS256');
    expect(await keeper.verify(key.token(claims()))).toBe('jwt_key_mismatch');
    expect(await keeper.verify(keyOf('ES256').token(claims(), { alg: 'EdDSA' }))).toBe(
      'jwt_key_mismatch',
    );
    expect(await keeper.verify(keyOf('RS256').token(claims(), { kid: 'ES256' }))).toBe(
      'jwt_key_mismatch',
    );
  });

  it('[R66] what brings its own key, or none, is refused without a call', async () => {
    const keeper = await start();
    const stranger = await MockIdpKey.make('EdDSA', 'EdDSA');
    const jku = `${idp.issuer}/evil.json`;
    const good = keyOf('ES256');
    for (const [token, refusal] of [
      [good.token(claims(), { alg: 'none' }), 'jwt_algorithm'],
      [good.token(claims(), { alg: 'None' }), 'jwt_algorithm'],
      [good.token(claims(), { alg: undefined }), 'jwt_algorithm'],
      [good.confusedToken(claims()), 'jwt_algorithm'],
      [keyOf('RS256').confusedToken(claims()), 'jwt_algorithm'],
      [good.token(claims(), { crit: ['x'], x: 1 }), 'jwt_header'],
      [stranger.token(claims(), { jwk: stranger.jwk }), 'jwt_header'],
      [stranger.token(claims(), { jku }), 'jwt_header'],
      [stranger.token(claims(), { x5u: jku }), 'jwt_header'],
      [good.token(claims(), { jku }), 'jwt_header'],
      [stranger.token(claims()), 'jwt_signature'],
      [good.token(claims(), { kid: undefined }), 'jwt_kid'],
    ] as const) {
      expect(await keeper.verify(token)).toBe(refusal);
    }
    expect(idp.counts).toMatchObject({ jwks: 1, other: 0 });
  });

  it('[R67] times are checked on the second, also for a token seen before', async () => {
    const keeper = await start();
    const token = keyOf('ES256').token(claims({ exp: NOW + 10 }));
    for (const [at, outcome] of [
      [0, ADA],
      [10, ADA],
      [40, ADA],
      [40.001, 'jwt_expired'],
      [41, 'jwt_expired'],
    ] as const) {
      nowMs = (NOW + at) * 1000;
      expect([at, await keeper.verify(token)]).toEqual([at, outcome]);
    }
  });

  it('a token seen before costs no signature, and falls with its key', async () => {
    const keeper = await start();
    const token = keyOf('ES256').token(claims());
    expect(keeper.verify(token)).toBeInstanceOf(Promise);
    await keeper.verify(token);
    expect(keeper.verify(token)).toEqual(ADA);
    await keeper.refresh();
    // The set has not changed.
    expect(keeper.verify(token)).toEqual(ADA);
    const renewed = await MockIdpKey.make('ES256', 'ES256');
    idp.keys.splice(idp.keys.indexOf(keyOf('ES256')), 1, renewed);
    await keeper.refresh();
    expect(await keeper.verify(token)).toBe('jwt_signature');
    expect(await keeper.verify(renewed.token(claims()))).toEqual(ADA);
    idp.removeKey('ES256');
    await keeper.refresh();
    expect(await keeper.verify(token)).toBe('jwt_unknown_key');
  });

  it('[R69] garbage costs less than a millisecond', async () => {
    const keeper = await start();
    const garbage = [
      ...['..', 'a.b.c', 'é.é.é', `${'a'.repeat(65_000)}.b.c`, 'e30.e30.e30'],
      keyOf('ES256').token(claims()).replace(/\../, '.x'),
    ];
    expect(garbage.every(isToken)).toBe(true);
    const rounds = 200;
    const before = performance.now();
    for (let round = 0; round < rounds; round += 1) {
      for (const token of garbage) expect(typeof (await keeper.verify(token))).toBe('string');
    }
    expect((performance.now() - before) / (rounds * garbage.length)).toBeLessThan(1);
  });
});

describe('the keys of the issuer', () => {
  it('come from where the operator or the issuer says', async () => {
    await start({ jwksUri: idp.jwksUri });
    expect(idp.counts.discovery).toBe(0);
    await start();
    expect(idp.counts.discovery).toBe(1);
    expect(idp.counts.jwks).toBe(2);
  });

  it('an issuer that ends with a slash is looked up without a second one', async () => {
    idp.discovery = { issuer: `${idp.issuer}/` };
    await start({ issuer: `${idp.issuer}/` });
  });

  it.each<[string, () => void, Partial<JwtOptions>, RegExp]>([
    ['another issuer', () => (idp.discovery = { issuer: 'https://x' }), {}, /names another issuer/],
    ['no jwks_uri', () => (idp.discovery = { jwks_uri: undefined }), {}, /has no jwks_uri/],
    [
      'keys on a private address',
      () => (idp.discovery = { jwks_uri: 'https://10.0.0.1/k' }),
      {},
      /10\.0\.0\.1: private/,
    ],
    [
      'keys without TLS',
      () => (idp.discovery = { jwks_uri: 'http://x.example' }),
      {},
      /only https/,
    ],
    ['no key that can be used', () => (idp.jwksMode = 'empty'), {}, /no key that can be used/],
    ['no document', () => (idp.discoveryMode = 'garbage'), {}, /not JSON/],
    ['10 MB', () => (idp.jwksMode = 'huge'), {}, /more than/],
    ['an error that stays', () => (idp.jwksMode = 'error'), {}, /status 500/],
    ['a redirect', () => (idp.jwksMode = 'redirect'), {}, /status 302/],
    ['nobody there', () => undefined, { jwksUri: 'http://127.0.0.1:1/' }, /ECONNREFUSED/],
    ['an issuer without TLS', () => undefined, { issuer: 'http://idp.example' }, /only https/],
  ])('%s: the start fails', async (_name, arrange, jwt, message) => {
    arrange();
    await expect(start(jwt)).rejects.toThrow(message);
  });

  it('a discovery document of elsewhere does not lead to this machine', async () => {
    const fetchJson = (url: string): Promise<unknown> =>
      Promise.resolve(
        url.startsWith('https://idp.example/')
          ? { issuer: 'https://idp.example', jwks_uri: idp.jwksUri }
          : { keys: idp.keys.map(({ jwk }) => jwk) },
      );
    await expect(start({ issuer: 'https://idp.example' }, { fetchJson })).rejects.toThrow(
      /leads to localhost/,
    );
  });

  it.each<MockIdpMode>(['error', 'garbage', 'huge', 'empty', 'reset', 'redirect'])(
    '[R64] %s while running: known keys work, unknown ones are 401, and it is counted',
    async (mode) => {
      const keeper = await start();
      idp.jwksMode = mode;
      nowMs += 3_600_000;
      const fresh = { exp: NOW + 4000 };
      expect(await keeper.verify(keyOf('ES256').token(claims(fresh)))).toEqual(ADA);
      nowMs += 10_001;
      const unknown = keyOf('ES256').as('new').token(claims(fresh));
      expect(await keeper.verify(unknown)).toBe('jwt_unknown_key');
      expect(await keeper.verify(keyOf('ES256').token(claims(fresh)))).toEqual(ADA);
      const failures = metrics
        .series('smg_auth_jwks_fetches_total')
        .filter(([result]) => result !== 'ok');
      expect(failures).toHaveLength(1);
      metrics.collect();
      expect(metrics.value('smg_auth_jwks_age_seconds')).toBeGreaterThanOrEqual(3_600);
      idp.jwksMode = 'ok';
      await keeper.refresh();
      metrics.collect();
      expect(metrics.value('smg_auth_jwks_age_seconds')).toBe(0);
    },
  );

  it('[R64] after a day without the issuer nobody can tell any more', async () => {
    const keeper = await start();
    idp.jwksMode = 'error';
    nowMs += 86_400_001;
    const token = keyOf('ES256').token(claims({ exp: nowMs / 1000 + 60 }));
    expect(await keeper.verify(token)).toBe('jwks_unavailable');
    idp.jwksMode = 'ok';
    nowMs += 10_001;
    expect(await keeper.verify(token)).toEqual(ADA);
  });

  it('[R62] a flood of unknown keys causes a fetch per cooldown and delays nobody', async () => {
    const timing = { ttlMs: 3_600_000, cooldownMs: 200, staleMs: 86_400_000 };
    const keeper = await start({}, { timing, now: () => NOW * 1000 + performance.now() });
    const key = keyOf('EdDSA');
    const good = key.token(claims());
    await keeper.verify(good);
    const startedAt = performance.now();
    for (let sent = 0; sent < 1000; sent += 20) {
      const flood = Array.from({ length: 20 }, async (_, at) =>
        keeper.verify(key.as(`random-${sent + at}`).token(claims())),
      );
      // Synchronous: nothing is waited for.
      expect(keeper.verify(good)).toEqual(ADA);
      expect(new Set(await Promise.all(flood))).toEqual(new Set(['jwt_unknown_key']));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const fetches = idp.counts.jwks - 1;
    expect(fetches).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedAt) / 200));
    expect(fetches).toBeGreaterThan(0);
  });

  it('a rotated key is found by its first token, for everyone who waits', async () => {
    const keeper = await start();
    const fresh = await idp.addKey('fresh', 'EdDSA');
    nowMs += 10_001;
    const tokens = Array.from({ length: 20 }, (_, at) => fresh.token(claims({ sub: `u${at}` })));
    const outcomes = await Promise.all(tokens.map(async (token) => keeper.verify(token)));
    expect(outcomes[7]).toEqual({ ...ADA, id: 'u7' });
    expect(outcomes.every((outcome) => typeof outcome === 'object')).toBe(true);
    expect(idp.counts.jwks).toBe(2);
  });

  it('a key whose point is not on its curve is left out', async () => {
    const { x } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
      format: 'jwk',
    });
    idp.keys.push(keyOf('ES256').as('bad', 'ES256', { kty: 'EC', crv: 'P-256', x, y: x }));
    const keeper = await start();
    expect(await keeper.verify(keyOf('ES256').as('bad').token(claims()))).toBe('jwt_unknown_key');
  });
});
