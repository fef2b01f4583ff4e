import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AuthMetrics } from './auth.metrics';
import { type JwtOptions } from './core/auth-options';
import { type TokenJudge } from './core/control-plane-auth';
import { DEFAULT_JWKS_TIMING, JwksCache, type JwksTiming } from './core/jwks-cache';
import { RoleReader } from './core/jwt-principal';
import { type JwtOutcome, JwtVerifier } from './core/jwt-verifier';
import { primeJwks } from './core/prime-jwks';
import { type FetchJson, guardedFetch } from './guarded-fetch';
import { joseCrypto } from './jose-crypto';
import { JwksSource } from './jwks.source';

/** Milliseconds between looks at the age of the keys, for a gateway nobody calls. */
const CHECK_INTERVAL_MS = 60_000;

/** What a test replaces. */
export interface TokenPorts {
  readonly fetchJson?: FetchJson;
  readonly now?: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
  readonly timing?: JwksTiming;
}

/** Judges tokens with the issuer's keys and keeps these fresh. */
export class TokenKeeper implements TokenJudge, OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly keys: JwksCache,
    private readonly verifier: JwtVerifier,
    private readonly ending: AbortController,
  ) {}

  /** Fetches the keys before anything is served. @throws Error when they cannot be had. */
  static async start(
    jwt: JwtOptions,
    metrics: AuthMetrics,
    ports: TokenPorts = {},
  ): Promise<TokenKeeper> {
    const { now = Date.now, fetchJson = guardedFetch(), timing = DEFAULT_JWKS_TIMING } = ports;
    const logger = new Logger('auth');
    const roles = new RoleReader(jwt.roleClaim, jwt.roleMapping);
    const crypto = await joseCrypto();
    const ending = new AbortController();
    const source = new JwksSource(jwt, fetchJson, crypto, ending.signal);
    const keys = new JwksCache(
      {
        load: (previous) => source.load(previous),
        now,
        onFetch: (result) => {
          metrics.fetched(result);
        },
        onOutage: ({ message }) => {
          if (ending.signal.aborted) return;
          const hours = timing.staleMs / 3_600_000;
          logger.warn(
            `the keys of the token issuer cannot be fetched (${message}); known keys stay in force for ${hours} h after the last success`,
          );
        },
        onRecovery: () => {
          logger.log('the keys of the token issuer were fetched again');
        },
      },
      timing,
    );
    metrics.watchAge(() => {
      const age = keys.ageMs;
      return age === undefined ? undefined : age / 1000;
    });
    await primeJwks(keys, { now, sleep: ports.sleep ?? sleep });
    const verifier = new JwtVerifier(jwt, roles, {
      lookUp: (kid) => keys.lookUp(kid),
      hasSignature: (token, key) => crypto.hasSignature(token, key),
      now,
    });
    return new TokenKeeper(keys, verifier, ending);
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.keys.refreshIfDue();
    }, CHECK_INTERVAL_MS);
    this.timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.ending.abort();
  }

  verify(token: string): JwtOutcome | Promise<JwtOutcome> {
    return this.verifier.verify(token);
  }

  /** @throws Error when the keys cannot be had; the old ones stay. */
  refresh(): Promise<void> {
    return this.keys.refreshNow();
  }
}
