import * as fc from 'fast-check';
import { loadConfig } from '@smg/config';
import { parseVersionPolicy, printVersionPolicy } from '@smg/rl';

/** Canonical spelling as the option reads it; undefined when it refuses. */
function byOption(text: string): string | undefined {
  try {
    return loadConfig({ rl: { enabled: true, versionPolicy: text } }).rl.versionPolicy;
  } catch {
    return undefined;
  }
}

/** The same as the control plane reads it. */
function byHeader(text: string): string | undefined {
  const parsed = parseVersionPolicy(text);
  return parsed.ok ? printVersionPolicy(parsed.policy) : undefined;
}

describe('the two readers of a version policy', () => {
  it('agree on every text', () => {
    const tail = fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 65n }).map(String),
      fc.string({
        unit: fc.constantFrom('0', '7', '+', '-', '.', ' ', 'a', '\u00a0', '\u0085', '\ufeff'),
      }),
      fc.string(),
    );
    const head = fc.constantFrom('any', 'latest-only', 'min-version:', 'max-staleness:', '');
    fc.assert(
      fc.property(head, tail, (start, end) => {
        for (const text of [start, start + end]) expect(byOption(text)).toBe(byHeader(text));
      }),
      { numRuns: 300 },
    );
  });
});
