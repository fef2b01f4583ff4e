import fc from 'fast-check';
import { AddressRules } from './address-rules';
import { BUILTIN_DENIALS } from './builtin-denials';

const refused = (address: string, allow: string[] = [], deny: string[] = []): boolean =>
  new AddressRules(allow, deny).refusalOf(address) !== undefined;

describe('without lists', () => {
  it.each([
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '10.0.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '8.8.8.8',
    '2001:db8::1',
    'fd00::1',
    'fd00::1%eth0',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::10.0.0.1',
  ])('%s may be a worker', (address) => {
    expect(new AddressRules().refusalOf(address)).toBeUndefined();
  });

  it.each([
    ['169.254.169.254', 'it is a cloud metadata service (169.254.169.254/32)'],
    ['169.254.170.2', 'it is a cloud metadata service (169.254.170.2/32)'],
    ['169.254.1.1', 'it is link-local (169.254.0.0/16)'],
    ['168.63.129.16', 'it is a cloud metadata service (168.63.129.16/32)'],
    ['100.100.100.200', 'it is a cloud metadata service (100.100.100.200/32)'],
    ['192.0.0.192', 'it is a cloud metadata service (192.0.0.192/32)'],
    ['fd00:ec2::254', 'it is a cloud metadata service (fd00:ec2::/32)'],
    ['fd20:ce::254', 'it is a cloud metadata service (fd20:ce::254/128)'],
    ['fe80::1', 'it is link-local (fe80::/10)'],
    ['fe80::1%eth0', 'it is link-local (fe80::/10)'],
    ['febf::1', 'it is link-local (fe80::/10)'],
    ['fe80::a9fe:a9fe', 'it is a cloud metadata service (fe80::a9fe:a9fe/128)'],
    ['0.0.0.0', 'it is the unspecified address (0.0.0.0/8)'],
    ['0.1.2.3', 'it is the unspecified address (0.0.0.0/8)'],
    ['::', 'it is the unspecified address (::/128)'],
    ['::ffff:0.0.0.0', '0.0.0.0 inside it is the unspecified address (0.0.0.0/8)'],
    ['224.0.0.1', 'it is multicast (224.0.0.0/4)'],
    ['239.255.255.255', 'it is multicast (224.0.0.0/4)'],
    ['ff02::1', 'it is multicast (ff00::/8)'],
    ['255.255.255.255', 'it is the broadcast address (255.255.255.255/32)'],
    [
      '::ffff:a9fe:a9fe',
      '169.254.169.254 inside it is a cloud metadata service (169.254.169.254/32)',
    ],
    [
      '2002:a9fe:a9fe::1',
      '169.254.169.254 inside it is a cloud metadata service (169.254.169.254/32)',
    ],
    [
      '64:ff9b::a9fe:a9fe',
      '169.254.169.254 inside it is a cloud metadata service (169.254.169.254/32)',
    ],
    ['a.name', 'it is not an IP address'],
    ['', 'it is not an IP address'],
  ])('%s may not: %s', (address, why) => {
    expect(new AddressRules().refusalOf(address)).toBe(why);
  });
});

describe('allowed networks', () => {
  it.each([
    // address, allowed, refused
    ['10.1.2.3', ['10.0.0.0/8'], false],
    ['11.1.2.3', ['10.0.0.0/8'], true],
    ['127.0.0.1', ['10.0.0.0/8'], true],
    ['127.0.0.1', ['10.0.0.0/8', '127.0.0.0/8'], false],
    ['10.1.2.3', ['10.1.2.3'], false],
    ['::ffff:10.1.2.3', ['10.0.0.0/8'], false],
    ['10.1.2.3', ['::ffff:10.0.0.0/104'], false],
    ['64:ff9b::10.1.2.3', ['10.0.0.0/8'], false],
    ['64:ff9b::10.1.2.3', ['64:ff9b::/96'], false],
    // Anybody may own these, whatever IPv4 address is written into them.
    ['2001:db8::5efe:10.1.2.3', ['10.0.0.0/8'], true],
    ['2002:a01:203::1', ['10.0.0.0/8'], true],
    ['2001::f5fe:fdfc', ['10.0.0.0/8'], true],
    ['64:ff9b:1:a01:2:300:808:808', ['10.0.0.0/8'], true],
    ['::ffff:0:10.1.2.3', ['10.0.0.0/8'], true],
    ['2001:db8::5efe:10.1.2.3', ['10.0.0.0/8', '2001:db8::/32'], false],
    ['fd00::1%eth0', ['fd00::/8'], false],
    ['2001:db8::1', ['fd00::/8'], true],
    // IPv6 networks say nothing of IPv4.
    ['10.1.2.3', ['::/0'], true],
    ['::ffff:10.1.2.3', ['0.0.0.0/0'], false],
    ['2001:db8::1', ['0.0.0.0/0'], true],
  ])('%s with %j: refused %s', (address, allow, expected) => {
    expect(refused(address, allow)).toBe(expected);
  });

  it('say why', () => {
    expect(new AddressRules(['10.0.0.0/8']).refusalOf('11.0.0.1')).toBe(
      'it is in no network of --worker-allow-cidr',
    );
  });

  it.each([
    // Only an entry inside a built-in denial takes something out of it.
    ['169.254.169.254', ['0.0.0.0/0'], true],
    ['169.254.169.254', ['128.0.0.0/1'], true],
    ['169.254.169.254', ['169.254.0.0/16'], true],
    ['169.254.169.254', ['169.254.169.0/24'], true],
    ['169.254.169.254', ['169.254.169.254/32'], false],
    ['169.254.169.254', ['169.254.169.254'], false],
    ['::ffff:169.254.169.254', ['169.254.169.254'], false],
    ['64:ff9b::a9fe:a9fe', ['64:ff9b::/96'], true],
    ['169.254.7.7', ['169.254.0.0/16'], false],
    ['169.254.7.7', ['169.254.7.0/24'], false],
    ['169.254.8.7', ['169.254.7.0/24'], true],
    ['169.254.7.7', ['169.0.0.0/8'], true],
    ['fe80::1%eth0', ['fe80::/10'], false],
    ['fe80::1', ['fe80::/64'], false],
    ['fe80::1', ['::/0'], true],
    ['fd00:ec2::254', ['fd00::/8'], true],
    ['fd00:ec2::254', ['fd00:ec2::254/128'], false],
    ['0.0.0.0', ['0.0.0.0/0'], true],
    ['0.0.0.0', ['0.0.0.0/8'], false],
  ])('%s with %j: refused %s', (address, allow, expected) => {
    expect(refused(address, allow)).toBe(expected);
  });
});

describe('denied networks', () => {
  it.each([
    ['127.0.0.1', [], ['127.0.0.0/8'], true],
    ['10.1.2.3', ['10.0.0.0/8'], ['10.1.0.0/16'], true],
    ['10.2.2.3', ['10.0.0.0/8'], ['10.1.0.0/16'], false],
    ['10.1.2.3', ['10.1.2.3/32'], ['10.0.0.0/8'], true],
    ['169.254.169.254', ['169.254.169.254'], ['169.254.169.254'], true],
    ['::ffff:10.1.2.3', [], ['10.0.0.0/8'], true],
    ['64:ff9b::10.1.2.3', [], ['10.0.0.0/8'], true],
    ['10.1.2.3', [], ['::ffff:0:0/96'], true],
    ['10.1.2.3', [], ['::/0'], false],
    ['::1', [], ['::/0'], true],
    ['::ffff:10.1.2.3', [], ['::/0'], true],
    ['10.1.2.3', [], ['0.0.0.0/0'], true],
    ['::1', [], ['0.0.0.0/0'], false],
  ])('%s, allowed %j, denied %j: refused %s', (address, allow, deny, expected) => {
    expect(refused(address, allow, deny)).toBe(expected);
  });

  it('win over whatever is allowed', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.nat(32), fc.nat(32), (address, allow, deny) => {
        expect(refused(address, [`${address}/${allow}`], [`${address}/${deny}`])).toBe(true);
      }),
    );
  });
});

it('judges an address and its mapped spelling alike', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.array(fc.ipV4(), { maxLength: 2 }), (address, allow) => {
      const rules = new AddressRules(allow.map((it) => `${it}/3`));
      expect(rules.refusalOf(`::ffff:${address}`) === undefined).toBe(
        rules.refusalOf(address) === undefined,
      );
    }),
  );
});

it.each(BUILTIN_DENIALS.map(({ network }) => network))('%s is refused unless named', (network) => {
  const [address = ''] = network.split('/');
  expect(refused(address)).toBe(true);
  expect(refused(address, ['0.0.0.0/0', '::/0'])).toBe(true);
  expect(refused(address, [network])).toBe(false);
});

it.each([
  '',
  'x',
  '10.0.0.0/33',
  '::/129',
  'fe80::%eth0/10',
  '1.2.3.4/8/8',
  '10.0.0.0/',
  '1.2.3/8',
])('does not take %j for a network', (text) => {
  expect(() => new AddressRules([text])).toThrow('not a network');
});
