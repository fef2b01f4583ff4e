import fc from 'fast-check';
import { compareVersions, equalVersions, laterVersion, parseVersion } from './weight-version';

const compare = (a: string, b: string): number =>
  Math.sign(compareVersions(parseVersion(a), parseVersion(b)));

describe('compareVersions', () => {
  it.each([
    ['10', '9', 1],
    ['042', '42', 0],
    ['0', '00', 0],
    ['+7', '7', 0],
    ['step-9', 'step-10', 1],
    ['v10', 'v9', -1],
    ['abc', 'acd', -1],
    ['V2', 'v1', -1],
    ['1', 'default', -1],
    ['1', '1a', -1],
    ['10', '9a', -1],
    ['9', '1a', 1],
    ['10', '1a', -1],
    ['ckpt-7', '9', 1],
    ['7.0', '7', 1],
    ['-1', '0', -1],
    ['1e3', '1000', 1],
    ['18446744073709551615', '18446744073709551616', -1],
    ['99', '18446744073709551616', 1],
    ['9007199254740993', '9007199254740992', 1],
    ['9007199254740991', '9007199254740992', -1],
    ['18446744073709551615', '18446744073709551614', 1],
    // Byte order, where UTF-16 order is the other way round.
    ['v\u{ffff}', 'v\u{10000}', -1],
  ])('%s against %s is %i', (a, b, expected) => {
    expect(compare(a, b)).toBe(expected);
    expect(compare(b, a)).toBe(expected === 0 ? 0 : -expected);
    expect(equalVersions(parseVersion(a), parseVersion(b))).toBe(expected === 0);
  });

  it('tells when a number is ordered against text, and only then', () => {
    const told: string[] = [];
    const onMixed = (a: string, b: string) => told.push(`${a} ${b}`);
    compareVersions(parseVersion('9'), parseVersion('10'), onMixed);
    compareVersions(parseVersion('a'), parseVersion('b'), onMixed);
    expect(told).toEqual([]);
    compareVersions(parseVersion('9'), parseVersion('1a'), onMixed);
    expect(told).toEqual(['9 1a']);
  });

  const version = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 65n }).map(String),
    fc.constantFrom('0', '00', '7', '+7', '007', '1a', 'step-7', '-1', '7.0', 'default'),
    fc.string({ minLength: 1, maxLength: 4 }),
  );

  it('is antisymmetric, and 0 exactly for equal versions', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(compare(a, b)).toBe(compare(b, a) === 0 ? 0 : -compare(b, a));
        expect(equalVersions(parseVersion(a), parseVersion(b))).toBe(compare(a, b) === 0);
      }),
    );
  });

  it('orders numbers as numbers', () => {
    const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(u64, u64, (a, b) => {
        expect(compare(String(a), String(b))).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });

  it('the later of many does not depend on their order', () => {
    fc.assert(
      fc.property(
        fc.array(version, { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (texts, random) => {
          const latest = (list: readonly string[]) =>
            list
              .map(parseVersion)
              .reduce<ReturnType<typeof parseVersion> | undefined>(laterVersion, undefined);
          const shuffled = texts
            .map((text) => ({ text, at: random.next().value as number }))
            .sort((a, b) => a.at - b.at)
            .map(({ text }) => text);
          expect(equalVersions(latest(texts), latest(shuffled))).toBe(true);
        },
      ),
    );
  });
});

describe('parseVersion', () => {
  it.each<[string, string, bigint | undefined]>([
    [' 42 ', '42', 42n],
    ['\u00a042\u0085', '42', 42n],
    ['\ufeff42', '\ufeff42', undefined],
    ['042', '042', 42n],
    ['+7', '+7', 7n],
    ['++7', '++7', undefined],
    ['', '', undefined],
    ['+', '+', undefined],
    ['1_000', '1_000', undefined],
    ['0x10', '0x10', undefined],
    ['٣', '٣', undefined],
    ['18446744073709551615', '18446744073709551615', 18_446_744_073_709_551_615n],
    ['18446744073709551616', '18446744073709551616', undefined],
    [`${'0'.repeat(10_000)}5`, `${'0'.repeat(10_000)}5`, 5n],
    ['9'.repeat(10_000), '9'.repeat(10_000), undefined],
  ])('%.20s', (text, kept, number) => {
    expect(parseVersion(text)).toMatchObject({ text: kept, number });
  });

  it('no version equals no version only', () => {
    expect(equalVersions(undefined, undefined)).toBe(true);
    expect(equalVersions(undefined, parseVersion('0'))).toBe(false);
    expect(equalVersions(parseVersion('0'), undefined)).toBe(false);
  });
});
