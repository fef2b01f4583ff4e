import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { type AuthOptions } from './auth-options';
import { validateAuthOptions } from './validate-auth-options';
import { ControlPlaneAuth, type ControlDecision, type TokenJudge } from './control-plane-auth';
import { exposureWarnings } from './exposure';
import { type JwtOutcome } from './jwt-verifier';
import { KeyHolder } from './key-set';
import { ServingKeyAuth } from './serving-key-auth';

const SHARED: AuthOptions = { apiKey: 'shared-canary' };
const TENANTS: AuthOptions = {
  tenantApiKeys: [
    { tenantId: 'a', key: 'tenant-canary-a' },
    { tenantId: 'b', key: 'tenant:canary:b' },
  ],
};
const BOTH: AuthOptions = { ...SHARED, ...TENANTS };
const NONE: AuthOptions = {};
const CONTROL: AuthOptions = {
  ...BOTH,
  controlPlaneApiKeys: [
    { id: 'ops', name: 'Ops', role: 'admin', key: 'control:canary:admin' },
    { id: 'eyes', name: 'Eyes', role: 'user', key: 'control-canary-user' },
  ],
};

const servingOf = (options: AuthOptions): ServingKeyAuth =>
  new ServingKeyAuth(KeyHolder.of(options));
const controlOf = (options: AuthOptions, tokens?: TokenJudge): ControlPlaneAuth =>
  new ControlPlaneAuth(KeyHolder.of(options), tokens);

type Answer = 'open' | 'allowed' | 'missing' | 'unknown' | 'forbidden';

function serving(options: AuthOptions, header: string | undefined): Answer {
  const decision = servingOf(options).decide(header);
  if (decision.allowed) return decision.consumesAuthorization ? 'allowed' : 'open';
  return decision.message.startsWith('Missing') ? 'missing' : 'unknown';
}

function control(options: AuthOptions, header: string | undefined): Answer {
  const decision = controlOf(options).decide(header) as ControlDecision;
  if (decision.allowed) return 'allowed';
  if (decision.status === 403) return 'forbidden';
  expect(decision.status).toBe(401);
  return decision.message === 'Missing or invalid Authorization header' ? 'missing' : 'unknown';
}

describe('serving plane', () => {
  it.each<[string, AuthOptions, string | undefined, Answer]>([
    ['nothing configured', NONE, undefined, 'open'],
    ['nothing configured, a client key', NONE, 'Bearer whatever', 'open'],
    ['shared', SHARED, 'Bearer shared-canary', 'allowed'],
    ['shared, lower-case scheme', SHARED, 'bearer  shared-canary', 'allowed'],
    ['shared, none sent', SHARED, undefined, 'missing'],
    ['shared, other scheme', SHARED, 'Basic shared-canary', 'missing'],
    ['shared, wrong', SHARED, 'Bearer shared-canary2', 'unknown'],
    ['shared, prefix', SHARED, 'Bearer shared-canar', 'unknown'],
    ['shared, other case', SHARED, 'Bearer Shared-canary', 'unknown'],
    ['tenant', TENANTS, 'Bearer tenant-canary-a', 'allowed'],
    ['tenant key with colons', TENANTS, 'Bearer tenant:canary:b', 'allowed'],
    ['tenant id is no key', TENANTS, 'Bearer a', 'unknown'],
    ['both, shared', BOTH, 'Bearer shared-canary', 'allowed'],
    ['both, tenant', BOTH, 'Bearer tenant-canary-a', 'allowed'],
  ])('%s', (_name, options, header, answer) => {
    expect(serving(options, header)).toBe(answer);
  });
});

describe('control plane', () => {
  it.each<[string, AuthOptions, string | undefined, Answer]>([
    ['nothing configured', NONE, undefined, 'allowed'],
    ['shared', SHARED, 'Bearer shared-canary', 'allowed'],
    ['shared, none sent', SHARED, undefined, 'missing'],
    ['shared, ill-formed', SHARED, 'shared-canary', 'missing'],
    ['shared, wrong', SHARED, 'Bearer nope', 'unknown'],
    ['tenant keys only, none sent', TENANTS, undefined, 'missing'],
    ['tenant keys only, a valid tenant key', TENANTS, 'Bearer tenant-canary-a', 'unknown'],
    ['both, shared', BOTH, 'Bearer shared-canary', 'allowed'],
    ['both, tenant', BOTH, 'Bearer tenant-canary-a', 'unknown'],
    ['control keys, none sent', CONTROL, undefined, 'missing'],
    ['control keys, an admin', CONTROL, 'Bearer control:canary:admin', 'allowed'],
    ['control keys, a user', CONTROL, 'Bearer control-canary-user', 'forbidden'],
    ['control keys, the shared key', CONTROL, 'Bearer shared-canary', 'unknown'],
    ['control keys, a tenant key', CONTROL, 'Bearer tenant-canary-a', 'unknown'],
    ['control keys, what looks like a token', CONTROL, 'Bearer a.b.c', 'unknown'],
  ])('%s', (_name, options, header, answer) => {
    expect(control(options, header)).toBe(answer);
  });

  it.each<[string, AuthOptions, RegExp[]]>([
    ['nothing', NONE, [/serving plane and the control plane are open/]],
    ['a shared key', SHARED, []],
    ['tenant keys alone', TENANTS, [/only tenant keys.*refuses everyone/]],
    ['control keys', CONTROL, []],
    [
      'control keys alone',
      { controlPlaneApiKeys: [{ id: 'a', name: '', role: 'admin', key: 'k' }] },
      [/no serving keys.*the serving plane is open/],
    ],
    [
      'a user alone',
      { ...SHARED, controlPlaneApiKeys: [{ id: 'a', name: '', role: 'user', key: 'k' }] },
      [/no control-plane key has the role admin/],
    ],
  ])('%s: the start says what is open', (_name, options, expected) => {
    const said = exposureWarnings(servingOf(options), controlOf(options));
    expect(said).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(said[index]).toMatch(pattern);
  });
});

describe('principals and tenants', () => {
  it.each<[string, AuthOptions, string | undefined, object]>([
    ['open', NONE, undefined, { id: 'anonymous', method: 'none', role: 'admin' }],
    ['shared', SHARED, 'shared-canary', { id: 'shared', method: 'api_key', role: 'admin' }],
    ['an admin', CONTROL, 'control:canary:admin', { id: 'ops', method: 'api_key', role: 'admin' }],
    ['a user', CONTROL, 'control-canary-user', { id: 'eyes', method: 'api_key', role: 'user' }],
    ['nobody', CONTROL, 'x', { id: 'unauthenticated', method: 'none', role: 'user' }],
  ])('%s', (_name, options, key, principal) => {
    const decision = controlOf(options).decide(key === undefined ? undefined : `Bearer ${key}`);
    expect(decision).toMatchObject({ principal });
  });

  it('a serving decision names the tenant, and the shared key by its hash', () => {
    const auth = servingOf(BOTH);
    expect(auth.decide('Bearer tenant-canary-a')).toMatchObject({ tenant: 'auth:a' });
    const hash = createHash('sha256').update('shared-canary').digest('hex');
    expect(auth.decide('Bearer shared-canary')).toMatchObject({ tenant: `auth:${hash}` });
    expect(auth.decide('Bearer shared-canary')).toBe(auth.decide('Bearer shared-canary'));
    expect(servingOf(NONE).decide('Bearer x')).not.toHaveProperty('tenant');
  });
});

describe('tokens beside keys', () => {
  const judge = (outcome: JwtOutcome): TokenJudge => ({ verify: () => outcome });
  const decide = (outcome: JwtOutcome, header: string, options = CONTROL) =>
    controlOf(options, judge(outcome)).decide(header);
  const admin = { id: 'a', method: 'jwt', role: 'admin' } as const;

  it('three dot-separated parts are a token and nothing else', () => {
    expect(decide(admin, 'Bearer a.b.c')).toMatchObject({ allowed: true, principal: admin });
    expect(decide('jwt_malformed', 'Bearer a.b.c')).toMatchObject({
      status: 401,
      message: 'Invalid JWT: malformed token',
    });
    for (const other of ['a', 'a.b', 'a.b.c.d', '....']) {
      expect(decide(admin, `Bearer ${other}`)).toMatchObject({
        status: 401,
        message: 'Invalid authentication token',
      });
    }
    expect(decide('jwt_malformed', 'Bearer control:canary:admin')).toMatchObject({ allowed: true });
  });

  it('tokens alone close the control plane to serving keys', () => {
    expect(decide(admin, 'Bearer shared-canary', SHARED)).toMatchObject({ status: 401 });
  });

  it('the role user is 403, keys nobody can fetch are 503', () => {
    const user = { id: 'u', method: 'jwt', role: 'user' } as const;
    expect(decide(user, 'Bearer a.b.c')).toMatchObject({
      status: 403,
      message: 'Admin role required for control plane access',
      principal: user,
    });
    expect(decide('jwks_unavailable', 'Bearer a.b.c')).toMatchObject({
      status: 503,
      message: 'Token keys unavailable',
    });
  });

  it('a control-plane key that reads as a token is refused at the start', () => {
    const options = {
      controlPlaneApiKeys: [{ id: 'a', name: '', role: 'admin', key: 'canary.b.c' }],
      jwt: { issuer: 'https://i', audience: 'a', roleClaim: 'roles', roleMapping: [] },
    } as const;
    expect(messageOf(() => KeyHolder.of(options))).toMatch(/id "a" has two dots/);
    expect(messageOf(() => KeyHolder.of(options))).not.toMatch(/canary/);
  });
});

describe('hostile tokens', () => {
  it.each([
    ['64 kB', 'x'.repeat(65_536)],
    ['Latin-1', '\u00ff\u0080'],
    ['beyond Latin-1', '\u{1f600}\ud800'],
    ['NUL', '\0'],
  ])('%s is refused without a throw', (_name, token) => {
    expect(serving(SHARED, `Bearer ${token}`)).toBe('unknown');
  });

  it('does not take a character for its low byte', () => {
    // U+0141 is 'A' (0x41) once cut to eight bits.
    expect(serving({ apiKey: 'A' }, 'Bearer \u0141')).toBe('unknown');
  });

  it('matches a non-ASCII key by its UTF-8 bytes, as Node reads them from the wire', () => {
    const onWire = Buffer.from('schl\u00fcssel', 'utf8').toString('latin1');
    expect(serving({ apiKey: 'schl\u00fcssel' }, `Bearer ${onWire}`)).toBe('allowed');
  });

  it('keeps no key where an inspection of the object could show it', () => {
    for (const auth of [servingOf(CONTROL), controlOf(CONTROL)]) {
      expect(inspect(auth, { depth: 10, showHidden: true }) + JSON.stringify(auth)).not.toMatch(
        /canary/,
      );
    }
  });
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return String(error);
  }
  throw new Error('expected a throw');
}

describe('options', () => {
  it.each<[string, AuthOptions, RegExp]>([
    ['an empty shared key', { apiKey: '' }, /--api-key: the key is empty/],
    ['a padded shared key', { apiKey: ' canary' }, /--api-key.*space/],
    ['an empty id', { tenantApiKeys: [{ tenantId: '', key: 'canary' }] }, /id is empty/],
    ['a padded id', { tenantApiKeys: [{ tenantId: 'a ', key: 'canary' }] }, /id starts or ends/],
    ['an empty key', { tenantApiKeys: [{ tenantId: 'a', key: '' }] }, /"a" is empty/],
    ['a padded key', { tenantApiKeys: [{ tenantId: 'a', key: 'canary ' }] }, /"a" starts or ends/],
    [
      'one tenant twice',
      {
        tenantApiKeys: [
          { tenantId: 'a', key: 'canary1' },
          { tenantId: 'a', key: 'canary2' },
        ],
      },
      /"a" is given twice/,
    ],
    [
      'one key twice',
      { apiKey: 'canary', tenantApiKeys: [{ tenantId: 'a', key: 'canary' }] },
      /already in use/,
    ],
    [
      'one id twice',
      {
        controlPlaneApiKeys: [
          { id: 'a', name: '', role: 'admin', key: 'canary1' },
          { id: 'a', name: '', role: 'user', key: 'canary2' },
        ],
      },
      /--control-plane-api-keys: id "a" is given twice/,
    ],
    [
      'a control-plane key that is the shared one',
      {
        ...SHARED,
        controlPlaneApiKeys: [{ id: 'a', name: '', role: 'admin', key: 'shared-canary' }],
      },
      /--control-plane-api-keys: the key of id "a" is already in use/,
    ],
  ])('refuses %s without repeating the key', (_name, options, message) => {
    expect(() => {
      validateAuthOptions(options);
    }).toThrow(message);
    expect(messageOf(() => servingOf(options))).not.toMatch(/canary/);
  });
});
