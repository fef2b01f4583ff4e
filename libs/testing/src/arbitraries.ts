import type fc from 'fast-check';
import { type WorkerView } from '@smg/plugin-api';
import { fakeWorker } from './fakes/fake-worker';

type FastCheck = typeof fc;

/** Generators of domain values. */
export interface Arbitraries {
  /** Canonical worker URLs, now and then with a data-parallel rank. */
  readonly workerUrl: fc.Arbitrary<string>;
  /** Ready workers with labels and load; URLs are distinct. */
  readonly fleet: fc.Arbitrary<readonly WorkerView[]>;
  /** Weight versions: numeric, zero-padded, dotted and plain text; all acceptable to engines. */
  readonly weightVersion: fc.Arbitrary<string>;
  /** Label sets as operators write them. */
  readonly labels: fc.Arbitrary<Readonly<Record<string, string>>>;
  /** Any JSON value a client may send, big integers kept apart by the caller. */
  readonly json: fc.Arbitrary<unknown>;
  /** A buffer and how it is cut into pieces; the pieces joined are the buffer. */
  readonly chunking: fc.Arbitrary<{ readonly bytes: Buffer; readonly chunks: readonly Buffer[] }>;
}

/**
 * Makes the generators. fast-check is handed in, so that this package does not need it when it runs.
 *
 * @example `const arb = arbitraries(fc); fc.assert(fc.property(arb.fleet, (fleet) => …));`
 */
export function arbitraries(check: FastCheck): Arbitraries {
  const host = check.constantFrom('10.0.0.1', '10.0.0.2', 'engine-a', 'engine-b', '[fd00::1]');
  const port = check.integer({ min: 1, max: 65_535 });
  const rank = check.option(check.nat({ max: 15 }), { nil: undefined, freq: 4 });
  const workerUrl = check
    .tuple(host, port, rank)
    .map(([name, at, dp]) => `http://${name}:${at}${dp === undefined ? '' : `@${dp}`}`);
  const word = check.stringMatching(/^[a-z][a-z0-9_.-]{0,11}$/);
  const labels = check.dictionary(word, check.oneof(word, check.constant('')), { maxKeys: 4 });
  const fleet = check
    .uniqueArray(check.record({ url: workerUrl, labels, load: check.nat({ max: 500 }) }), {
      selector: ({ url }) => url,
      maxLength: 12,
    })
    .map((options) => Object.freeze(options.map((one) => fakeWorker(one))));
  const weightVersion = check.oneof(
    check.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
    check.nat({ max: 999 }).map((n) => String(n).padStart(6, '0')),
    check.stringMatching(/^[A-Za-z][A-Za-z0-9._-]{0,20}$/),
    check.stringMatching(/^v?\d{1,3}(\.\d{1,3}){1,2}$/),
  );
  const bytes = check.oneof(
    check.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array)),
    check.string({ unit: 'grapheme', maxLength: 200 }).map((text) => Buffer.from(text)),
  );
  const chunking = check
    .tuple(bytes, check.array(check.nat({ max: 400 }), { maxLength: 8 }))
    .map(([whole, cuts]) => {
      const at = [...new Set([0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length])];
      at.sort((a, b) => a - b);
      const chunks = at.slice(1).map((end, index) => whole.subarray(at[index], end));
      return { bytes: whole, chunks };
    });
  return { workerUrl, fleet, weightVersion, labels, json: check.jsonValue(), chunking };
}
