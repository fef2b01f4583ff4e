import { isUtf8 } from 'node:buffer';

const MAX_TOKENS = 512;
const MAX_TOKEN_BYTES = 4096;
const MAX_KEY_BYTES = 128;
const MAX_U32 = 0xffff_ffff;
const TOKEN_LIST = /^\d{1,10}(,\d{1,10})*$/;

/** Token ids of the routing-tokens header; anything invalid makes the whole hint void. */
export function parseRoutingTokens(value: string | undefined): readonly number[] | undefined {
  if (value === undefined || value.length > MAX_TOKEN_BYTES || !TOKEN_LIST.test(value)) {
    return undefined;
  }
  const tokens: number[] = [];
  for (const part of value.split(',')) {
    const token = Number(part);
    if (token > MAX_U32 || tokens.length === MAX_TOKENS) return undefined;
    tokens.push(token);
  }
  return tokens;
}

/** A routing key of 1 to 128 bytes of UTF-8, or undefined. @param value as Node gives it, Latin-1. */
export function parseRoutingKey(value: string | undefined): string | undefined {
  if (value === undefined || value === '' || value.length > MAX_KEY_BYTES) return undefined;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
