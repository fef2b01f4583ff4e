import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  type RSAKeyPairKeyObjectOptions,
  sign,
} from 'node:crypto';
import { promisify } from 'node:util';

/** Algorithms a mock identity provider has keys for. */
export type MockIdpAlgorithm =
  `RS${'256' | '384' | '512'}` | `PS${'256' | '384' | '512'}` | 'ES256' | 'ES384' | 'EdDSA';

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

const makeKeyPair = promisify(generateKeyPair);

async function privateKeyFor(alg: MockIdpAlgorithm, bits: number): Promise<KeyObject> {
  if (alg === 'EdDSA') return (await makeKeyPair('ed25519')).privateKey;
  if (alg === 'ES256') return (await makeKeyPair('ec', { namedCurve: 'P-256' })).privateKey;
  if (alg === 'ES384') return (await makeKeyPair('ec', { namedCurve: 'P-384' })).privateKey;
  const options: RSAKeyPairKeyObjectOptions = { modulusLength: bits };
  return (await makeKeyPair('rsa', options)).privateKey;
}

/** A key pair of the provider, and what it signs. */
export class MockIdpKey {
  private constructor(
    readonly kid: string,
    readonly alg: MockIdpAlgorithm,
    readonly privateKey: KeyObject,
    /** As it stands in the set; a test may add or take members. */
    readonly jwk: Readonly<Record<string, unknown>>,
  ) {}

  /** @param bits of an RSA modulus; making one takes a while. */
  static async make(kid: string, alg: MockIdpAlgorithm, bits = 2048): Promise<MockIdpKey> {
    const privateKey = await privateKeyFor(alg, bits);
    const members = createPublicKey(privateKey).export({ format: 'jwk' });
    return new MockIdpKey(kid, alg, privateKey, { ...members, kid, alg, use: 'sig' });
  }

  /** The same key pair under another name, algorithm or set of members. */
  as(kid: string, alg = this.alg, jwk: Readonly<Record<string, unknown>> = this.jwk): MockIdpKey {
    return new MockIdpKey(kid, alg, this.privateKey, { ...jwk, kid, alg });
  }

  /** A compact token. `header` is merged over `alg`, `kid` and `typ`; undefined takes a member away. */
  token(claims: unknown, header: Readonly<Record<string, unknown>> = {}): string {
    const head = { alg: this.alg, kid: this.kid, typ: 'JWT', ...header };
    const input = `${base64url(head)}.${base64url(claims)}`;
    return `${input}.${this.signature(input).toString('base64url')}`;
  }

  /** A token whose HMAC secret is this key's public half: the oldest trick. */
  confusedToken(claims: unknown): string {
    const input = `${base64url({ alg: 'HS256', kid: this.kid })}.${base64url(claims)}`;
    const secret = JSON.stringify(this.jwk);
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  }

  private signature(input: string): Buffer {
    const { alg, privateKey: key } = this;
    const data = Buffer.from(input);
    if (alg === 'EdDSA') return sign(null, data, key);
    const hash = `sha${alg.slice(2)}`;
    if (alg.startsWith('ES')) return sign(hash, data, { key, dsaEncoding: 'ieee-p1363' });
    if (alg.startsWith('RS')) return sign(hash, data, key);
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    return sign(hash, data, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  }
}
