import { type JwksCache, JwksError, type FetchResult } from './jwks-cache';

/** Milliseconds for which a start waits for an issuer that is starting itself. */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 2_000;

/** What another try cannot mend. */
const FINAL: readonly FetchResult[] = ['refused', 'invalid', 'too_large'];

/** Fetches the keys before anything is served. @throws Error when they cannot be had in time. */
export async function primeJwks(
  cache: JwksCache,
  ports: { now(): number; sleep(ms: number): Promise<unknown> },
): Promise<void> {
  const startedAt = ports.now();
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
    try {
      await cache.refreshNow();
      return;
    } catch (error) {
      const isFinal = error instanceof JwksError && FINAL.includes(error.result);
      if (isFinal || ports.now() - startedAt + pause >= PATIENCE_MS) {
        const why = error instanceof Error ? error.message : 'unknown';
        throw new Error(`--jwt-issuer: the keys of the issuer cannot be had: ${why}`, {
          cause: error,
        });
      }
    }
    await ports.sleep(pause);
  }
}
