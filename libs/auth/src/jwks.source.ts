import { parseUrl } from '@smg/protocol';
import { type UsableJwk, usableKeys } from './core/jwk-set';
import { JwksError, type KeyTable, type VerifyKey } from './core/jwks-cache';
import { hostOf, isLocalHost } from './core/remote-address';
import { type FetchJson } from './guarded-fetch';

const DISCOVERY = '/.well-known/openid-configuration';

/** What is needed of the cryptography. */
export interface KeyImporter {
  /** @throws Error when it is no key. */
  importKey(key: UsableJwk): Promise<unknown>;
}

export interface JwksPlace {
  readonly issuer: string;
  readonly jwksUri?: string | undefined;
}

/** Fetches the issuer's keys, from where it says they are unless an operator said so. */
export class JwksSource {
  /** Where the last successful fetch went; asked for again after a failure. */
  private discovered: string | undefined;

  constructor(
    private readonly place: JwksPlace,
    private readonly fetchJson: FetchJson,
    private readonly importer: KeyImporter,
    private readonly signal: AbortSignal,
  ) {}

  /** @throws JwksError */
  async load(previous: KeyTable): Promise<KeyTable> {
    const uri = this.place.jwksUri ?? this.discovered ?? (await this.discover());
    this.discovered = undefined;
    const document = await this.fetchJson(uri, this.signal);
    const table = await this.tableOf(usableKeys(document), previous);
    if (table.size === 0)
      throw new JwksError('invalid', 'the issuer offers no key that can be used');
    this.discovered = uri;
    return table;
  }

  private async discover(): Promise<string> {
    const { issuer } = this.place;
    const base = issuer.endsWith('/') ? issuer.slice(0, -1) : issuer;
    const document = await this.fetchJson(base + DISCOVERY, this.signal);
    const members = (document ?? {}) as Readonly<Record<string, unknown>>;
    // Another issuer's keys would open this door (OpenID Connect Discovery 4.3).
    if (members['issuer'] !== issuer) {
      throw new JwksError('invalid', 'the discovery document names another issuer');
    }
    const uri = members['jwks_uri'];
    const url = typeof uri === 'string' ? parseUrl(uri) : undefined;
    if (typeof uri !== 'string' || url === undefined) {
      throw new JwksError('invalid', 'the discovery document has no jwks_uri');
    }
    // Only an issuer of this machine may lead to this machine.
    if (isLocalHost(hostOf(url)) && !isLocalHost(hostOf(new URL(issuer)))) {
      throw new JwksError('refused', 'the discovery document leads to localhost');
    }
    return uri;
  }

  private async tableOf(keys: readonly UsableJwk[], previous: KeyTable): Promise<KeyTable> {
    const table = new Map<string, VerifyKey[]>();
    for (const jwk of keys) {
      const known = previous.get(jwk.kid)?.find((key) => key.fingerprint === jwk.fingerprint);
      const key = known ?? (await this.imported(jwk));
      if (key === undefined) continue;
      const others = table.get(jwk.kid);
      if (others === undefined) table.set(jwk.kid, [key]);
      else if (!others.some(({ alg }) => alg === key.alg)) others.push(key);
    }
    return table;
  }

  private async imported(jwk: UsableJwk): Promise<VerifyKey | undefined> {
    const { kid, alg, fingerprint } = jwk;
    try {
      return { kid, alg, fingerprint, material: await this.importer.importKey(jwk) };
    } catch {
      // A point that is not on its curve, for one.
      return undefined;
    }
  }
}
