import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { randomBytes } from 'node:crypto';

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

interface SigningKey {
  readonly kid: string;
  readonly privateKey: PrivateKey;
  readonly jwk: JWK;
}

/** What an issuer does with keys: signs with the newest, publishes those it has not withdrawn. */
export class IssuerKeys {
  private keys: readonly SigningKey[] = [];

  private constructor(private readonly alg: string) {}

  /** @param alg of all keys, such as RS256, ES256 or EdDSA. */
  static async create(alg: string): Promise<IssuerKeys> {
    const keys = new IssuerKeys(alg);
    await keys.rotate(false);
    return keys;
  }

  /** Signs with a new key from now on. @param withdraw whether the others leave the set. */
  async rotate(withdraw: boolean): Promise<string> {
    const { alg } = this;
    const kid = randomBytes(4).toString('hex');
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
    this.keys = [{ kid, privateKey, jwk }, ...(withdraw ? [] : this.keys)];
    return kid;
  }

  /** The JWK set: public members alone. */
  get published(): { readonly keys: readonly JWK[] } {
    return { keys: this.keys.map(({ jwk }) => jwk) };
  }

  async sign(claims: JWTPayload): Promise<string> {
    const [key] = this.keys;
    if (key === undefined) throw new Error('no key');
    const header = { alg: this.alg, kid: key.kid, typ: 'JWT' };
    return new SignJWT(claims).setProtectedHeader(header).sign(key.privateKey);
  }
}
