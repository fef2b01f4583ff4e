import fc from 'fast-check';
import { MockEngine, MockIdp, MockIdpKey } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { sendRaw, statusOf } from './support/raw-client';

let idp: MockIdp;
let ec: MockIdpKey;
let rsa: MockIdpKey;
beforeAll(async () => {
  idp = await new MockIdp().start();
  ec = await idp.addKey('ec-1', 'ES256');
  rsa = await idp.addKey('rsa-1', 'RS256');
});
afterAll(() => idp.stop());
afterEach(() => {
  idp.jwksMode = 'ok';
});

const now = (): number => Math.floor(Date.now() / 1000);
const claims = (more: object = {}): object => ({
  iss: idp.issuer,
  aud: 'smg',
  exp: now() + 300,
  sub: 'ada',
  roles: ['admin'],
  ...more,
});

const start = (more: object = {}): Promise<RunningGateway> =>
  startGateway({
    auth: { apiKey: 'S', jwtIssuer: idp.issuer, jwtAudience: 'smg', ...more },
  });

const ask = (gateway: RunningGateway, token: string): Promise<Answer> =>
  send(`${gateway.url}/workers`, { headers: { authorization: `Bearer ${token}` } });

describe('tokens on the control plane', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.close());

  it.each<[string, () => string, string | undefined]>([
    ['good', () => ec.token(claims()), undefined],
    ['good, RSA', () => rsa.token(claims()), undefined],
    ['expired', () => ec.token(claims({ exp: now() - 32 })), 'token has expired'],
    ['within the leeway', () => ec.token(claims({ exp: now() - 20 })), undefined],
    ['early', () => ec.token(claims({ nbf: now() + 40 })), 'token is not yet valid'],
    [
      'of the future',
      () => ec.token(claims({ iat: now() + 40 })),
      'token was issued in the future',
    ],
    ['of another issuer', () => ec.token(claims({ iss: 'https://x' })), 'wrong issuer'],
    ['for somebody else', () => ec.token(claims({ aud: ['x'] })), 'wrong audience'],
    ['without exp', () => ec.token(claims({ exp: undefined })), 'missing or unusable exp'],
    ['exp as text', () => ec.token(claims({ exp: `${now() + 9}` })), 'missing or unusable exp'],
    ['exp beyond dates', () => ec.token(claims({ exp: 1e20 })), 'missing or unusable exp'],
    ['without iss', () => ec.token(claims({ iss: undefined })), 'wrong issuer'],
    ['without aud', () => ec.token(claims({ aud: undefined })), 'wrong audience'],
    ['without kid', () => ec.token(claims(), { kid: undefined }), 'missing kid'],
    ['with an unknown kid', () => ec.as('x').token(claims()), 'unknown key'],
    ['none [R66]', () => ec.token(claims(), { alg: 'none' }), 'unsupported algorithm'],
    ['HS256', () => ec.confusedToken(claims()), 'unsupported algorithm'],
    ['HS256 over RSA', () => rsa.confusedToken(claims()), 'unsupported algorithm'],
    ['crit', () => ec.token(claims(), { crit: ['exp'] }), 'unsupported header'],
    ['jku', () => ec.token(claims(), { jku: `${idp.issuer}/evil` }), 'unsupported header'],
    ['jwk', () => ec.token(claims(), { jwk: ec.jwk }), 'unsupported header'],
    ['x5u', () => ec.token(claims(), { x5u: `${idp.issuer}/evil` }), 'unsupported header'],
    [
      'alg of another key',
      () => rsa.as('ec-1').token(claims()),
      'algorithm does not match the key',
    ],
    [
      'PS256 with an RS256 key',
      () => rsa.as('rsa-1', 'PS256').token(claims()),
      'algorithm does not match the key',
    ],
    ['changed', () => ec.token(claims()).slice(0, -4) + 'AAAA', 'invalid signature'],
    ['of 17 KiB', () => ec.token(claims({ x: 'x'.repeat(17_000) })), 'token is too long'],
  ])('%s', async (_name, token, reason) => {
    const answer = await ask(gateway, token());
    if (reason === undefined) {
      expect(answer.status).toBe(200);
      return;
    }
    expect([answer.status, answer.text]).toEqual([401, `Invalid JWT: ${reason}`]);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="control-plane"');
    expect(idp.counts.other).toBe(0);
  });

  it('roles', async () => {
    for (const [more, status] of [
      [{ roles: 'admin' }, 200],
      [{ roles: undefined, groups: ['x', 'Admin'] }, 200],
      [{ roles: ['user'] }, 403],
      [{ roles: undefined }, 403],
    ] as const) {
      expect((await ask(gateway, ec.token(claims(more)))).status).toBe(status);
    }
  });

  it('[R69] whatever stands in Authorization is 401, or 400 and 431 where it is no header', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary-ascii' }),
      fc.tuple(fc.base64String(), fc.string(), fc.string()).map((parts) => parts.join('.')),
      fc.constantFrom('Bearer', 'Bearer ', 'Bearer  x', 'bearer', 'Bearer a.b', 'Bearer a.b.c.d'),
      fc.constant(`Bearer ${'x'.repeat(70_000)}`),
      fc.constant(`Bearer ${'a.'.repeat(20_000)}`),
      fc.constant('Bearer é.ü.\u00ff'),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.boolean(), async (garbage, isBearer) => {
        // A line break would be another header; what Node refuses as a character is 400.
        const value = (isBearer ? `Bearer ${garbage}` : garbage).replace(/[\r\n]/g, '');
        const { text: answer } = await sendRaw(
          gateway.port,
          `GET /workers HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${value}\r\n\r\n`,
        );
        expect([400, 401, 431]).toContain(statusOf(answer));
      }),
      { numRuns: 80 },
    );
  });

  it('no token is in the log', () => {
    expect(gateway.rawLogs.join('')).not.toMatch(/eyJ/);
  });
});

describe('the issuer and a running gateway', () => {
  it('[R62] a thousand random key ids cause no more fetches than the cooldown allows', async () => {
    const gateway = await start();
    try {
      const good = ec.token(claims());
      const before = idp.counts.jwks;
      const startedAt = Date.now();
      let slowest = 0;
      for (let sent = 0; sent < 1000; sent += 25) {
        const flood = Array.from({ length: 25 }, (_, at) =>
          ask(gateway, ec.as(`random-${sent + at}`).token(claims())),
        );
        const asked = performance.now();
        expect((await ask(gateway, good)).status).toBe(200);
        slowest = Math.max(slowest, performance.now() - asked);
        const statuses = (await Promise.all(flood)).map(({ status }) => status);
        expect(new Set(statuses)).toEqual(new Set([401]));
      }
      const cooldowns = Math.ceil((Date.now() - startedAt) / 10_000);
      expect(idp.counts.jwks - before).toBeLessThanOrEqual(1 + cooldowns);
      // Far below a fetch's deadline: nobody waits for the issuer.
      expect(slowest).toBeLessThan(2_000);
    } finally {
      await gateway.close();
    }
  });

  it('[R64] an outage leaves known keys in force; a reload takes a rotated set', async () => {
    const gateway = await start();
    try {
      for (const mode of ['error', 'garbage', 'huge', 'empty'] as const) {
        idp.jwksMode = mode;
        await gateway.gateway.reload();
        expect((await ask(gateway, ec.token(claims()))).status).toBe(200);
      }
      const warnings = gateway.logs.filter(({ msg }) =>
        String(msg).includes('known keys stay in force for 24 h'),
      );
      expect(warnings).toHaveLength(1);
      idp.jwksMode = 'ok';
      const fresh = await MockIdpKey.make('ec-2', 'ES256');
      idp.keys.splice(0, 1, fresh);
      await gateway.gateway.reload();
      expect((await ask(gateway, fresh.token(claims()))).status).toBe(200);
      const old = await ask(gateway, ec.token(claims()));
      expect([old.status, old.text]).toEqual([401, 'Invalid JWT: unknown key']);
      const page = await gateway.metrics();
      for (const [result, count] of [
        ['ok', 2],
        ['status', 1],
        ['invalid', 2],
        ['too_large', 1],
      ] as const) {
        expect(page).toContain(`smg_auth_jwks_fetches_total{result="${result}"} ${count}`);
      }
      expect(page).toMatch(/^smg_auth_jwks_age_seconds [\d.e-]+$/m);
    } finally {
      idp.keys.splice(0, 1, ec);
      await gateway.close();
    }
  });

  it('a token with a new key waits for one fetch, and its body is not read before', async () => {
    const gateway = await start();
    try {
      // The start was a fetch too.
      await new Promise((resolve) => setTimeout(resolve, 10_050));
      idp.jwksMode = 'hang';
      const before = idp.counts.jwks;
      const { text } = await sendRaw(
        gateway.port,
        `POST /workers HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n` +
          `Content-Length: 100000\r\nAuthorization: Bearer ${ec.as('new').token(claims())}\r\n\r\n`,
        { timeoutMs: 700 },
      );
      expect(text).toBe('');
      expect(idp.counts.jwks).toBe(before + 1);
      expect((await ask(gateway, ec.token(claims()))).status).toBe(200);
    } finally {
      await gateway.close();
    }
  }, 30_000);
});

describe('the start', () => {
  it.each<[string, () => object, RegExp]>([
    ['another issuer', () => ({ jwtIssuer: `${idp.issuer}/` }), /names another issuer/],
    ['no TLS', () => ({ jwtIssuer: 'http://idp.example' }), /only https/],
    ['a private address', () => ({ jwtJwksUri: 'https://10.0.0.1/k' }), /private/],
    ['an internal name', () => ({ jwtJwksUri: 'https://keys.internal/k' }), /internal/],
  ])('%s: the gateway does not start', async (_name, auth, message) => {
    const error: unknown = await start(auth()).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/--jwt-issuer: the keys of the issuer cannot be had/);
    expect(String(error)).toMatch(message);
  });

  it('no issuer there: ten seconds, then an end', async () => {
    const startedAt = Date.now();
    await expect(start({ jwtIssuer: 'http://127.0.0.1:1' })).rejects.toThrow(/ECONNREFUSED|failed/);
    expect(Date.now() - startedAt).toBeLessThan(15_000);
  }, 30_000);

  it('an issuer that comes up late is waited for', async () => {
    const late = new MockIdp();
    const { port } = new URL((await late.start()).issuer);
    await late.stop();
    const key = await late.addKey('k', 'EdDSA');
    const starting = startGateway({
      auth: { jwtIssuer: `http://127.0.0.1:${port}`, jwtAudience: 'smg' },
    });
    await new Promise((resolve) => setTimeout(resolve, 600));
    await late.start(Number(port));
    const gateway = await starting;
    try {
      const token = key.token({ iss: late.issuer, aud: 'smg', exp: now() + 60, role: 'admin' });
      expect((await ask(gateway, token)).status).toBe(200);
    } finally {
      await gateway.close();
      await late.stop();
    }
  });
});

describe('roles of an issuer', () => {
  it('claim and mapping are configured; inference is not touched by tokens', async () => {
    const engine = await new MockEngine().start();
    const gateway = await startGateway(
      {
        auth: {
          tenantApiKeys: [{ tenantId: 'acme', key: 'T' }],
          jwtIssuer: idp.issuer,
          jwtAudience: 'smg',
          jwtJwksUri: idp.jwksUri,
          jwtRoleClaim: 'realm_access.roles',
          jwtRoleMapping: [{ idpRole: 'cn=ops,dc=x', role: 'admin' }],
        },
      },
      { engines: [engine] },
    );
    try {
      const token = ec.token(claims({ roles: [], realm_access: { roles: ['cn=ops,dc=x'] } }));
      expect((await ask(gateway, token)).status).toBe(200);
      const plain = ec.token(claims({ roles: [], realm_access: { roles: ['dev'] } }));
      expect((await ask(gateway, plain)).status).toBe(403);
      for (const [key, status] of [
        [token, 401],
        ['T', 200],
      ] as const) {
        const headers = { authorization: `Bearer ${key}` };
        const answer = await send(`${gateway.url}/generate`, { headers, body: { text: 'x' } });
        expect(answer.status).toBe(status);
      }
      await until('decisions are recorded', () =>
        Promise.resolve(gateway.rawLogs.some((line) => line.includes('"principal":"ada"'))),
      );
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
