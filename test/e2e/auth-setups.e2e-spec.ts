import { MockEngine, MockIdp, type MockIdpKey } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { describeLanes } from './support/lanes';

const SHARED = { apiKey: 'S' };
const TENANTS = { tenantApiKeys: [{ tenantId: 'acme', key: 'T' }] };
const CONTROL = {
  controlPlaneApiKeys: [
    { id: 'ops', name: 'Ops', role: 'admin', key: 'A:with:colons' },
    { id: 'eyes', name: 'Eyes', role: 'user', key: 'U' },
  ],
} as const;

/** What a control route answers; the text is its whole body. */
const CONTROL_ANSWERS = {
  missing: [401, 'Missing or invalid Authorization header'],
  unknown: [401, 'Invalid authentication token'],
  user: [403, 'Admin role required for control plane access'],
  badToken: [401, 'Invalid JWT: malformed token'],
  expired: [401, 'Invalid JWT: token has expired'],
} as const;

type Expected = 'ok' | keyof typeof CONTROL_ANSWERS;

let idp: MockIdp;
let key: MockIdpKey;
let engine: MockEngine;
beforeAll(async () => {
  idp = await new MockIdp().start();
  key = await idp.addKey('k1', 'ES256');
  engine = await new MockEngine().start();
});
afterAll(async () => {
  await idp.stop();
  await engine.stop();
});

const now = (): number => Math.floor(Date.now() / 1000);
const token = (claims: object = {}): string =>
  key.token({ iss: idp.issuer, aud: ['smg'], exp: now() + 300, sub: 'ada', ...claims });

/** Credentials by name; made when used, since tokens age. */
const CREDENTIALS: Readonly<Record<string, () => string | undefined>> = {
  none: () => undefined,
  empty: () => 'Bearer ',
  basic: () => 'Basic UzpT',
  shared: () => 'Bearer S',
  'lower case': () => 'bearer   S',
  tenant: () => 'Bearer T',
  admin: () => 'Bearer A:with:colons',
  user: () => 'Bearer U',
  stranger: () => 'Bearer X',
  'admin token': () => `Bearer ${token({ roles: ['admin'] })}`,
  'user token': () => `Bearer ${token()}`,
  'old token': () => `Bearer ${token({ roles: ['admin'], exp: now() - 60 })}`,
  'three parts': () => 'Bearer a.b.c!',
  'four parts': () => 'Bearer a.b.c.d',
};

interface Setup {
  readonly name: string;
  readonly auth: () => NonNullable<PartialGatewayConfig['auth']>;
  /** Credentials that open inference; undefined: it is open. */
  readonly serving: readonly string[] | undefined;
  readonly control: Readonly<Record<string, Expected>>;
}

const jwt = () => ({ jwtIssuer: idp.issuer, jwtAudience: 'smg' });

const GUARDED: Readonly<Record<string, Expected>> = {
  none: 'missing',
  empty: 'missing',
  basic: 'missing',
  shared: 'unknown',
  tenant: 'unknown',
  stranger: 'unknown',
  'four parts': 'unknown',
};

const SETUPS: readonly Setup[] = [
  {
    name: 'nothing',
    auth: () => ({}),
    serving: undefined,
    control: { none: 'ok', stranger: 'ok', 'three parts': 'ok' },
  },
  {
    name: 'a shared key',
    auth: () => SHARED,
    serving: ['shared', 'lower case'],
    control: {
      none: 'missing',
      empty: 'missing',
      basic: 'missing',
      shared: 'ok',
      'lower case': 'ok',
      stranger: 'unknown',
      'three parts': 'unknown',
    },
  },
  {
    name: 'a shared and a tenant key',
    auth: () => ({ ...SHARED, ...TENANTS }),
    serving: ['shared', 'lower case', 'tenant'],
    control: { none: 'missing', shared: 'ok', tenant: 'unknown' },
  },
  {
    name: 'a tenant key alone',
    auth: () => TENANTS,
    serving: ['tenant'],
    control: { none: 'missing', tenant: 'unknown', stranger: 'unknown' },
  },
  {
    name: 'control-plane keys',
    auth: () => ({ ...SHARED, ...TENANTS, ...CONTROL }),
    serving: ['shared', 'lower case', 'tenant'],
    control: { ...GUARDED, admin: 'ok', user: 'user', 'three parts': 'unknown' },
  },
  {
    name: 'control-plane keys alone',
    auth: () => CONTROL,
    serving: undefined,
    control: { ...GUARDED, admin: 'ok', user: 'user' },
  },
  {
    name: 'tokens',
    auth: () => ({ ...SHARED, ...TENANTS, ...jwt() }),
    serving: ['shared', 'lower case', 'tenant'],
    control: {
      ...GUARDED,
      admin: 'unknown',
      'admin token': 'ok',
      'user token': 'user',
      'old token': 'expired',
      'three parts': 'badToken',
    },
  },
  {
    name: 'tokens and control-plane keys',
    auth: () => ({ ...SHARED, ...CONTROL, ...jwt() }),
    serving: ['shared', 'lower case'],
    control: {
      ...GUARDED,
      admin: 'ok',
      user: 'user',
      'admin token': 'ok',
      'user token': 'user',
      'old token': 'expired',
      'three parts': 'badToken',
    },
  },
];

function expectControl(answer: Answer, expected: Expected, withBody: boolean): void {
  if (expected === 'ok') {
    expect(answer.status).toBe(200);
    return;
  }
  const [status, text] = CONTROL_ANSWERS[expected];
  expect([answer.status, answer.text]).toEqual([status, withBody ? text : '']);
  expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(answer.headers['www-authenticate']).toBe(
    status === 401 ? 'Bearer realm="control-plane"' : undefined,
  );
  expect(answer.headers['content-length']).toBe(String(text.length));
  expect(answer.headers).not.toHaveProperty('x-smg-error-code');
  expect(answer.headers).toHaveProperty('x-request-id');
}

describeLanes('what opens which plane', ({ hotLane }) => {
  describe.each(SETUPS)('$name', ({ auth, serving, control }) => {
    let gateway: RunningGateway;
    beforeAll(async () => {
      gateway = await startGateway(
        { auth: auth(), requests: { hotLane }, rl: { enabled: true } },
        { engines: [engine] },
      );
    });
    afterAll(() => gateway.close());

    const headersOf = (name: string): Record<string, string> => {
      const authorization = CREDENTIALS[name]?.();
      return authorization === undefined ? {} : { authorization };
    };

    it('control routes, reading included', async () => {
      for (const [name, expected] of Object.entries(control)) {
        for (const [method, path] of [
          ['GET', '/workers'],
          ['HEAD', '/workers'],
          ['POST', '/flush_cache'],
          ['GET', '/v1/rl/workers'],
        ] as const) {
          const answer = await send(gateway.url + path, { method, headers: headersOf(name) });
          expectControl(answer, expected, method !== 'HEAD');
        }
        // A wrong method is the business of those who may call the path.
        const wrong = await send(`${gateway.url}/workers`, {
          method: 'DELETE',
          headers: headersOf(name),
        });
        if (expected === 'ok') expect(wrong.status).toBe(405);
        else expectControl(wrong, expected, true);
      }
    });

    it('inference routes', async () => {
      for (const name of Object.keys(CREDENTIALS)) {
        const headers = headersOf(name);
        const isOpen = serving === undefined || serving.includes(name);
        const answer = await send(`${gateway.url}/generate`, { headers, body: { text: 'x' } });
        const wrong = await send(`${gateway.url}/generate`, { method: 'PUT', headers });
        if (isOpen) {
          expect([name, answer.status, wrong.status]).toEqual([name, 200, 405]);
          expect([wrong.text, wrong.headers.allow]).toEqual(['', 'POST']);
          continue;
        }
        const isMissing = ['none', 'empty', 'basic'].includes(name);
        const message = isMissing
          ? 'Missing API key. Send it as: Authorization: Bearer <key>'
          : 'Invalid API key';
        for (const refused of [answer, wrong]) {
          expect([name, refused.status, refused.text]).toEqual([
            name,
            401,
            JSON.stringify({
              error: { message, type: 'authentication_error', code: 'invalid_api_key' },
            }),
          ]);
          expect(refused.headers['content-type']).toBe('application/json');
          expect(refused.headers['www-authenticate']).toBe('Bearer');
        }
      }
    });

    it('public routes take anything; unknown paths are nobody’s', async () => {
      for (const name of Object.keys(CREDENTIALS)) {
        const headers = headersOf(name);
        for (const path of ['/health', '/v1/models', '/get_server_info']) {
          expect((await send(gateway.url + path, { headers })).status).toBe(200);
        }
        const wrong = await send(`${gateway.url}/health`, { method: 'DELETE', headers });
        expect(wrong.status).toBe(405);
        const unknown = await send(`${gateway.url}/nothing`, { headers });
        expect([unknown.status, unknown.text]).toEqual([404, '']);
        expect(unknown.headers).not.toHaveProperty('www-authenticate');
      }
    });

    it('refusals are counted by plane and reason', async () => {
      const page = await gateway.metrics();
      const hasRefusals = Object.values(control).some((expected) => expected !== 'ok');
      expect(/smg_auth_refusals_total\{plane="control",reason="\w+"\} \d+/.test(page)).toBe(
        hasRefusals,
      );
      expect(/smg_auth_refusals_total\{plane="data",reason="\w+"\} \d+/.test(page)).toBe(
        serving !== undefined,
      );
    });
  });
});
