import { isPrivateAddress, refusalOfAddress, refusalOfUrl } from './remote-address';

describe('addresses', () => {
  it.each([
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.0.1', '169.254.169.254'],
    ...['172.16.0.1', '172.31.255.255', '192.168.0.1', '192.0.0.8', '198.18.0.1', '224.0.0.1'],
    ...['240.0.0.1', '255.255.255.255', '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1'],
    ...['fd12::1', 'ff02::1', '::ffff:10.0.0.1', '::ffff:169.254.169.254', '::ffff:8.8.8.8'],
    ...['::10.0.0.1', '64:ff9b::10.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '2002:a00:1::'],
    ...['2001::1', '2001:db8::1', '100::1', 'fec0::1', 'nonsense', ''],
  ])('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each([
    ...['8.8.8.8', '172.15.255.255', '172.32.0.0', '100.63.0.1', '100.128.0.1', '192.167.1.1'],
    ...['223.255.255.255', '2606:4700::1111', '2a00:1450:4001::200e', '64:ff9b::8.8.8.8'],
  ])('%s is public', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});

describe('where keys may be fetched', () => {
  it.each([
    ...[
      'https://idp.example/jwks',
      'https://8.8.8.8/',
      'http://localhost:1/',
      'http://127.0.0.1:1',
    ],
    ...[
      'http://[::1]:1/',
      'https://localhost/',
      'https://idp.example./',
      'https://locals.example/',
    ],
    // The URL parser knows every spelling of an address.
    'http://0x7f.1/',
  ])('%s', (url) => {
    expect(refusalOfUrl(new URL(url))).toBeUndefined();
  });

  it.each([
    ...['http://idp.example/jwks', 'ftp://localhost/', 'https://10.0.0.1/', 'https://0xa.1/'],
    ...['https://idp.internal/', 'https://IDP.LOCAL/', 'https://idp.local./', 'https://internal/'],
    ...['https://169.254.169.254/', 'https://[fd00::1]/', 'https://[::ffff:10.0.0.1]/'],
    ...[
      'https://u:p@idp.example/',
      'http://127.0.0.2/',
      'http://x.localhost/',
      'https://2852039166/',
    ],
  ])('not %s', (url) => {
    expect(refusalOfUrl(new URL(url))).toBeDefined();
  });

  it('a name is judged by what it resolves to', () => {
    expect(refusalOfAddress('idp.example', '8.8.8.8')).toBeUndefined();
    expect(refusalOfAddress('idp.example', '10.0.0.1')).toBeDefined();
    expect(refusalOfAddress('idp.example', '127.0.0.1')).toBeDefined();
    expect(refusalOfAddress('localhost', '127.0.0.1')).toBeUndefined();
    expect(refusalOfAddress('localhost', '::1')).toBeUndefined();
    expect(refusalOfAddress('localhost', '8.8.8.8')).toBeDefined();
  });
});
