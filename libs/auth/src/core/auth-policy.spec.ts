import { inspect } from 'node:util';
import { type AuthOptions, validateAuthOptions } from './auth-options';
import { ControlPlaneAuth, ServingKeyAuth } from './auth-policy';

const SHARED: AuthOptions = { apiKey: 'shared-canary' };
const TENANTS: AuthOptions = {
  tenantApiKeys: [
    { tenantId: 'a', key: 'tenant-canary-a' },
    { tenantId: 'b', key: 'tenant:canary:b' },
  ],
};
const BOTH: AuthOptions = { ...SHARED, ...TENANTS };
const NONE: AuthOptions = {};

type Answer = 'open' | 'allowed' | 'missing' | 'unknown';

function serving(options: AuthOptions, header: string | undefined): Answer {
  const decision = new ServingKeyAuth(options).decide(header);
  if (decision.allowed) return decision.consumesAuthorization ? 'allowed' : 'open';
  return decision.message.startsWith('Missing') ? 'missing' : 'unknown';
}

function control(options: AuthOptions, header: string | undefined): Answer {
  const decision = new ControlPlaneAuth(options).decide(header);
  if (decision.allowed) return 'allowed';
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
  ])('%s', (_name, options, header, answer) => {
    expect(control(options, header)).toBe(answer);
  });

  it('can admit somebody unless tenant keys stand alone', () => {
    expect([NONE, SHARED, BOTH, TENANTS].map((o) => new ControlPlaneAuth(o).canAdmit)).toEqual([
      true,
      true,
      true,
      false,
    ]);
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
    for (const auth of [new ServingKeyAuth(BOTH), new ControlPlaneAuth(BOTH)]) {
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
  ])('refuses %s without repeating the key', (_name, options, message) => {
    expect(() => {
      validateAuthOptions(options);
    }).toThrow(message);
    expect(messageOf(() => new ServingKeyAuth(options))).not.toMatch(/canary/);
  });
});
