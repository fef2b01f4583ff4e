import { canonicalTenant, tenantOf } from './tenant-key';

const ask = (
  headers: Record<string, string> = {},
  peer?: string,
  authenticatedTenant?: string,
) => ({ authenticatedTenant, peer, header: (name: string) => headers[name] });

describe('tenantOf', () => {
  it.each([
    ['a key before all', ask({ h: 'x' }, '10.0.0.1', 'auth:acme'), 'h', 'auth:acme'],
    ['the trusted header', ask({ h: 'x' }, '10.0.0.1'), 'h', 'header:x'],
    ['a header nobody trusts', ask({ h: 'x' }, '10.0.0.1'), undefined, 'ip:10.0.0.1'],
    ['another header', ask({ other: 'x' }, '10.0.0.1'), 'h', 'ip:10.0.0.1'],
    ['an empty header', ask({ h: '' }, '10.0.0.1'), 'h', 'ip:10.0.0.1'],
    ['256 characters', ask({ h: 'x'.repeat(256) }), 'h', `header:${'x'.repeat(256)}`],
    ['257 characters', ask({ h: 'x'.repeat(257) }, '10.0.0.1'), 'h', 'ip:10.0.0.1'],
    ['a repeated header', ask({ h: 'a, b' }, '10.0.0.1'), 'h', 'ip:10.0.0.1'],
    ['bytes beyond ASCII', ask({ h: 'caf\xe9' }, '10.0.0.1'), 'h', 'ip:10.0.0.1'],
    ['a control character', ask({ h: 'a\tb' }, '10.0.0.1'), 'h', 'ip:10.0.0.1'],
    ['IPv4 on a dual-stack socket', ask({}, '::ffff:192.0.2.7'), undefined, 'ip:192.0.2.7'],
    ['IPv6', ask({}, '2001:db8::1'), undefined, 'ip:2001:db8::1'],
    ['nothing at all', ask(), undefined, 'anonymous'],
  ])('%s', (_, request, header, tenant) => {
    expect(tenantOf(request, header)).toBe(tenant);
  });
});

describe('canonicalTenant', () => {
  it.each([
    ['auth:acme', 'auth:acme'],
    ['auth:with:colon', 'auth:with:colon'],
    ['header:x', 'header:x'],
    ['anonymous', 'anonymous'],
    ['ip:10.0.0.1', 'ip:10.0.0.1'],
    ['ip:2001:DB8:0:0::0001', 'ip:2001:db8::1'],
    ['ip:::1', 'ip:::1'],
    ['ip:::FFFF:10.0.0.1', 'ip:10.0.0.1'],
    ['ip:::ffff:a00:1', 'ip:10.0.0.1'],
    ['acme', undefined],
    ['Anonymous', undefined],
    ['auth:', undefined],
    ['AUTH:acme', undefined],
    ['header:', undefined],
    ['header:a b', undefined],
    ['ip:', undefined],
    ['ip:10.0.0', undefined],
    ['ip:10.0.0.0/8', undefined],
    ['ip:localhost', undefined],
    ['', undefined],
  ])('%s', (text, tenant) => {
    expect(canonicalTenant(text)).toBe(tenant);
  });
});
