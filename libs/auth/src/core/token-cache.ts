import { createHash } from 'node:crypto';
import { type Principal } from '@smg/plugin-api';
import { type VerifyKey } from './jwks-cache';

/** Tokens; each entry is a few hundred bytes. */
const MAX_ENTRIES = 1024;

export interface VerifiedToken {
  readonly principal: Principal;
  readonly key: VerifyKey;
  /** Seconds since 1970. */
  readonly exp: number;
}

/**
 * Tokens whose signature was verified, by their SHA-256, so that a caller that polls costs none per
 * call. The oldest makes room. Whether the key still stands is for the reader to check.
 */
export class TokenCache {
  private readonly entries = new Map<string, VerifiedToken>();

  get size(): number {
    return this.entries.size;
  }

  static digestOf(token: string): string {
    return createHash('sha256').update(token, 'latin1').digest('base64');
  }

  /** Never beyond `exp`: the leeway is for a token that is verified. */
  get(digest: string, nowSecs: number): VerifiedToken | undefined {
    const entry = this.entries.get(digest);
    if (entry === undefined || nowSecs < entry.exp) return entry;
    this.entries.delete(digest);
    return undefined;
  }

  set(digest: string, entry: VerifiedToken): void {
    if (!this.entries.has(digest) && this.entries.size >= MAX_ENTRIES) {
      const [oldest] = this.entries.keys();
      if (oldest !== undefined) this.entries.delete(oldest);
    }
    this.entries.set(digest, entry);
  }
}
