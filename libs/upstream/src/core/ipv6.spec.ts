import fc from 'fast-check';
import { embeddedIPv4, groupsOf, mappedIPv4, withoutZone } from './ipv6';

describe('groupsOf', () => {
  it.each([
    ['::', [0, 0, 0, 0, 0, 0, 0, 0]],
    ['::1', [0, 0, 0, 0, 0, 0, 0, 1]],
    ['fe80::', [0xfe80, 0, 0, 0, 0, 0, 0, 0]],
    ['2001:db8::5:6', [0x2001, 0xdb8, 0, 0, 0, 0, 5, 6]],
    ['1:2:3:4:5:6:7:8', [1, 2, 3, 4, 5, 6, 7, 8]],
    ['::ffff:169.254.169.254', [0, 0, 0, 0, 0, 0xffff, 0xa9fe, 0xa9fe]],
    ['1:2:3:4:5:6:1.2.3.4', [1, 2, 3, 4, 5, 6, 0x102, 0x304]],
  ])('reads %s', (address, groups) => {
    expect(groupsOf(address)).toEqual(groups);
  });

  it('reads what the URL parser writes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 }),
        (groups) => {
          const long = groups.map((group) => group.toString(16)).join(':');
          const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
          expect(groupsOf(short)).toEqual(groups);
        },
      ),
    );
  });
});

describe('embeddedIPv4', () => {
  it.each([
    ['IPv4-mapped', '::ffff:169.254.169.254', ['169.254.169.254']],
    ['IPv4-mapped in hex', '::ffff:a9fe:a9fe', ['169.254.169.254']],
    ['IPv4-compatible', '::a9fe:a9fe', ['169.254.169.254']],
    ['IPv4-translated', '::ffff:0:a9fe:a9fe', ['169.254.169.254']],
    ['6to4', '2002:a9fe:a9fe::1', ['169.254.169.254']],
    ['Teredo', '2001:0:4136:e378:8000:63bf:5601:5601', ['169.254.169.254']],
    ['NAT64', '64:ff9b::a9fe:a9fe', ['169.254.169.254']],
    ['local NAT64, /96', '64:ff9b:1::a9fe:a9fe', ['169.254.169.254']],
    ['local NAT64, /48', '64:ff9b:1:a9fe:a9:fe00::', ['169.254.169.254']],
    ['ISATAP', '2001:db8::5efe:a9fe:a9fe', ['169.254.169.254']],
    ['ISATAP, global', '2001:db8::200:5efe:a9fe:a9fe', ['169.254.169.254']],
    ['the unspecified address', '::', []],
    ['loopback', '::1', []],
    ['a plain address', '2001:db8::a9fe:a9fe', []],
    ['a unique local address', 'fd00::1', []],
  ])('%s', (_name, address, expected) => {
    if (expected.length === 0) expect(embeddedIPv4(address)).toEqual([]);
    else expect(embeddedIPv4(address)).toEqual(expect.arrayContaining(expected));
  });

  it('finds any IPv4 address under each prefix that ends in one', () => {
    const prefixes = ['::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', '2001:db8::5efe:'];
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom(...prefixes), (ip, prefix) => {
        fc.pre(!ip.startsWith('0.'));
        expect(embeddedIPv4(prefix + ip)).toContain(ip);
      }),
    );
  });
});

it('knows a mapped address from others', () => {
  expect(mappedIPv4('::ffff:10.1.2.3')).toBe('10.1.2.3');
  expect(mappedIPv4('64:ff9b::10.1.2.3')).toBeUndefined();
});

it('takes the zone off', () => {
  expect(withoutZone('fe80::1%eth0')).toBe('fe80::1');
  expect(withoutZone('fe80::1')).toBe('fe80::1');
});
