import { type RoleMapping } from './auth-options';
import { claimAt, principalOfClaims, RoleReader } from './jwt-principal';

const roleOf = (claims: object, claim = 'roles', mapping: RoleMapping[] = []): string =>
  new RoleReader(claim, mapping).roleOf(claims as Record<string, unknown>);

describe('roles of a token', () => {
  it.each<[string, object, string]>([
    ['nothing', {}, 'user'],
    ['admin', { roles: 'admin' }, 'admin'],
    ['any case', { roles: ['Admin'] }, 'admin'],
    ['a list, admin wins', { roles: ['user', 'x', 'admin'] }, 'admin'],
    ['text is one role, not a list', { roles: 'user admin' }, 'user'],
    ['role', { role: 'admin' }, 'admin'],
    ['groups', { groups: ['admin'] }, 'admin'],
    ['group', { group: 'admin' }, 'admin'],
    ['the configured claim decides before others', { roles: 'user', groups: 'admin' }, 'user'],
    ['a claim that says nothing passes the word on', { roles: ['x'], groups: 'admin' }, 'admin'],
    ['no object and no number is a role', { roles: [{ admin: true }, 1, ['admin']] }, 'user'],
    ['true is no role', { roles: true, admin: true }, 'user'],
  ])('%s', (_name, claims, role) => {
    expect(roleOf(claims)).toBe(role);
  });

  it('a claim of one’s own is looked at first, with dots into objects', () => {
    const claims = { realm_access: { roles: ['admin'] }, roles: ['user'] };
    expect(roleOf(claims, 'realm_access.roles')).toBe('admin');
    expect(roleOf({ 'https://x.example/roles': 'admin' }, 'https://x.example/roles')).toBe('admin');
    expect(roleOf({ 'a.b': 'user', a: { b: 'admin' } }, 'a.b')).toBe('user');
  });

  it('a mapping wins over the literal word', () => {
    const mapping: RoleMapping[] = [
      { idpRole: 'gpu-ops', role: 'admin' },
      { idpRole: 'admin', role: 'user' },
    ];
    expect(roleOf({ roles: ['gpu-ops'] }, 'roles', mapping)).toBe('admin');
    expect(roleOf({ roles: ['GPU-OPS'] }, 'roles', mapping)).toBe('user');
    expect(roleOf({ roles: ['admin'] }, 'roles', mapping)).toBe('user');
    expect(() => roleOf({}, 'roles', [...mapping, { idpRole: 'gpu-ops', role: 'user' }])).toThrow(
      /"gpu-ops" is both/,
    );
  });

  it('nothing of an object’s prototype is a claim', () => {
    for (const name of ['constructor', '__proto__.x', 'constructor.name', 'roles.length', '']) {
      expect([name, claimAt({ roles: ['admin'] }, name)]).toEqual([name, undefined]);
    }
  });
});

describe('the principal of a token', () => {
  it.each<[object, string]>([
    [{ sub: 's', email: 'e', preferred_username: 'p' }, 's'],
    [{ email: 'e', preferred_username: 'p' }, 'e'],
    [{ sub: '', preferred_username: 'p' }, 'p'],
    [{ sub: 7 }, 'unknown'],
    [{}, 'unknown'],
  ])('%j', (claims, id) => {
    const principal = principalOfClaims(
      claims as Record<string, unknown>,
      new RoleReader('roles', []),
    );
    expect(principal).toEqual({ id, method: 'jwt', role: 'user' });
  });
});
