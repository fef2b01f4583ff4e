import { send } from '../../support/http';

/** Something a framework can ask for and the gateway does not do, and how the gateway says so. */
export interface Unsupported {
  readonly what: string;
  readonly why: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
}

/**
 * Holds the gateway to its refusals: what a page lists as not supported is refused as the page says,
 * and the run prints why.
 */
export function describeUnsupported(
  url: () => string,
  cases: readonly Unsupported[],
  page: () => string,
): void {
  describe('not supported', () => {
    it.each(cases)('$what', async ({ what, why, method, path, body, status }) => {
      const answer = await send(url() + path, {
        method,
        ...(body === undefined ? {} : { body }),
      });
      process.stderr.write(`not supported: ${what}: ${why}\n`);
      expect(answer.status).toBe(status);
      expect(page()).toContain(path.split('?', 1)[0]);
    });
  });
}
