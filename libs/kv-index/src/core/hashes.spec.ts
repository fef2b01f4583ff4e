import { hexOf, moduloOf } from './hash64';
import { createHashes, type Hashes } from './hashes';
import { tokenBytes } from './tokens';

/** The input of BLAKE3's published vectors: 0, 1, …, 250, 0, 1, … */
const pattern = (length: number) => Uint8Array.from({ length }, (_, i) => i % 251);

/** The bytes of a little-endian number, as digests are printed. */
const printed = (hash: { high: number; low: number }) => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(hash.low, 0);
  bytes.writeUInt32LE(hash.high, 4);
  return bytes.toString('hex');
};

describe('createHashes', () => {
  let hashes: Hashes;
  beforeAll(async () => {
    hashes = await createHashes();
  });

  it.each([
    ['', '2d06800538d394c2'],
    ['a', 'e6c632b61e964e1f'],
    ['abc', '78af5f94892f3950'],
  ])('agrees with published xxh3-64 values: "%s"', (input, expected) => {
    expect(hashes.xxh3Hex(input)).toBe(expected);
    expect(hexOf(hashes.xxh3(Buffer.from(input)))).toBe(expected);
  });

  it.each([
    [0, 'af1349b9f5f9a1a6'],
    [1, '2d3adedff11b61f1'],
    [1023, '10108970eeda3eb9'],
    [1024, '42214739f095a406'],
    [1025, 'd00278ae47eb27b3'],
  ])('agrees with published BLAKE3 vectors: %d bytes', (length, expected) => {
    expect(printed(hashes.blake3Prefix64(pattern(length)))).toBe(expected);
  });

  it('takes strings as UTF-8, and inputs larger than its memory', () => {
    expect(hashes.xxh3Hex('schlüssel')).toBe(hashes.xxh3Hex(Buffer.from('schlüssel')));
    expect(hashes.blake3Prefix64('世界')).toEqual(hashes.blake3Prefix64(Buffer.from('世界')));
    const large = pattern(100_000);
    expect(hashes.xxh3(large)).toEqual(hashes.xxh3(large.slice()));
    expect(hashes.xxh3(large)).not.toEqual(hashes.xxh3(large.subarray(1)));
  });

  it('has no memory of the call before', () => {
    const before = hashes.xxh3Hex('a');
    hashes.blake3Prefix64('x');
    hashes.xxh3('b');
    expect(hashes.xxh3Hex('a')).toBe(before);
  });

  it('says what is missing when the process has no WebAssembly', async () => {
    const property = Object.getOwnPropertyDescriptor(globalThis, 'WebAssembly')!;
    Reflect.deleteProperty(globalThis, 'WebAssembly');
    try {
      await expect(createHashes()).rejects.toThrow(/needs WebAssembly/);
    } finally {
      Object.defineProperty(globalThis, 'WebAssembly', property);
    }
  });
});

describe('Hash64', () => {
  it('prints leading zeros', () => {
    expect(hexOf({ high: 0, low: 0xab })).toBe('00000000000000ab');
  });

  it.each([1, 2, 3, 7, 100, 999_983])('is exact modulo %d', (divisor) => {
    for (const [high, low] of [
      [0, 5],
      [1, 0],
      [0xffff_ffff, 0xffff_ffff],
      [0x1234_5678, 0x9abc_def0],
    ] as const) {
      const exact = ((BigInt(high) << 32n) | BigInt(low)) % BigInt(divisor);
      expect(moduloOf({ high, low }, divisor)).toBe(Number(exact));
    }
  });
});

describe('tokenBytes', () => {
  it('writes little-endian words', () => {
    expect(tokenBytes([1, 0x0102_0304, 0xffff_ffff]).toString('hex')).toBe(
      '0100000004030201ffffffff',
    );
  });

  it('takes the first ones, as many as there are', () => {
    expect(tokenBytes(Uint32Array.from([1, 2, 3]), 2).toString('hex')).toBe('0100000002000000');
    expect(tokenBytes([1], 5)).toHaveLength(4);
  });
});
