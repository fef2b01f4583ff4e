import { type Edge } from './edge-store';
import { firstDifference } from './first-difference';
import { BYTES_PER_TOKEN } from './tokens';
import { type Units } from './units';

/** Pages of tokens, each a 32-bit word in the byte order of the machine. */
export class PageUnits implements Units {
  private readonly seeds: readonly [number, number];

  constructor(
    private readonly pageBytes: number,
    random: () => number,
  ) {
    this.seeds = [Math.floor(random() * 4_294_967_296), Math.floor(random() * 4_294_967_296)];
  }

  /** 52 bits of hash: with a million siblings, two of them share a key once in 9,000 trees. */
  keyAt(bytes: Buffer, at: number): number {
    let [a, b] = this.seeds;
    for (let i = at; i < at + this.pageBytes; i += 4) {
      const word =
        (bytes[i] ?? 0) |
        ((bytes[i + 1] ?? 0) << 8) |
        ((bytes[i + 2] ?? 0) << 16) |
        ((bytes[i + 3] ?? 0) << 24);
      a = Math.imul(a ^ word, 0x9e37_79b1);
      a = (a << 15) | (a >>> 17);
      b = Math.imul(b + word, 0x85eb_ca6b);
      b ^= b >>> 13;
    }
    a = Math.imul(a ^ (b >>> 16) ^ (a >>> 15), 0xc2b2_ae35);
    b = Math.imul(b ^ (a >>> 13), 0x27d4_eb2f);
    return (a >>> 0) * 1_048_576 + (b >>> 12);
  }

  commonPrefix(text: Buffer, start: number, edge: Edge): number {
    const limit = Math.min(text.length - start, edge.size);
    const same = firstDifference(text, start, edge.chunk.bytes, edge.start, limit);
    return same - (same % this.pageBytes);
  }

  lengthOf(_bytes: Buffer, start: number, end: number): number {
    return (end - start) / BYTES_PER_TOKEN;
  }
}
