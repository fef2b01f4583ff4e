import { type ClientHead } from './client-head';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SUFFIX_LENGTH = 24;
/** Largest multiple of 62 that fits a byte; higher bytes would favour the first letters. */
const FAIR_BELOW = 248;
const POOL_BYTES = 4096;
/** Printable ASCII, at most 256 bytes: safe in a log, a header and an URL. */
const ACCEPTABLE = /^[\x21-\x7e][\x20-\x7e]{0,255}$/;

/**
 * Finds or makes request ids. Random bytes are fetched a page at a time: one system call serves
 * about 160 ids.
 */
export class RequestIds {
  private pool: Uint8Array = new Uint8Array(0);
  private next = 0;

  /**
   * @param sources lower-case header names in order of preference.
   * @param randomBytes cryptographically strong.
   */
  constructor(
    private readonly sources: readonly string[],
    private readonly randomBytes: (size: number) => Uint8Array,
  ) {}

  /** The first acceptable id among the configured headers, else a new one with `prefix`. */
  of(head: ClientHead, prefix: string): string {
    for (const name of this.sources) {
      const value = head.header(name);
      if (value === undefined || value === '') continue;
      // An id nobody can print or search for is worth less than a fresh one.
      return ACCEPTABLE.test(value) ? value : this.make(prefix);
    }
    return this.make(prefix);
  }

  make(prefix: string): string {
    let id = prefix;
    for (let length = 0; length < SUFFIX_LENGTH;) {
      if (this.next >= this.pool.length) {
        this.pool = this.randomBytes(POOL_BYTES);
        this.next = 0;
      }
      const byte = this.pool[this.next++] ?? FAIR_BELOW;
      if (byte >= FAIR_BELOW) continue;
      id += ALPHABET.charAt(byte % 62);
      length += 1;
    }
    return id;
  }
}
