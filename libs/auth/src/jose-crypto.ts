import { type CryptoKey } from 'jose';
import { type UsableJwk } from './core/jwk-set';
import { type VerifyKey } from './core/jwks-cache';
import { type KeyImporter } from './jwks.source';

/** The cryptography of tokens. Read from disk only where tokens are configured. */
export interface TokenCrypto extends KeyImporter {
  /** Whether the signature is the key's; false for anything that goes wrong. */
  hasSignature(token: string, key: VerifyKey): Promise<boolean>;
}

export async function joseCrypto(): Promise<TokenCrypto> {
  const { compactVerify, importJWK } = await import('jose');
  return {
    importKey: ({ jwk, alg }: UsableJwk) => importJWK({ ...jwk }, alg),
    async hasSignature(token, { alg, material }) {
      try {
        await compactVerify(token, material as CryptoKey, { algorithms: [alg] });
        return true;
      } catch {
        // Its messages may quote the token.
        return false;
      }
    },
  };
}
