import fc from 'fast-check';
import { parseVersionPolicy, printVersionPolicy } from './version-policy';

const GRAMMAR = 'expected any | latest-only | min-version:<v> | max-staleness:<k>';
const FLOOR = 'min-version needs a version with no whitespace';
const DISTANCE = 'max-staleness needs a decimal integer';

describe('parseVersionPolicy', () => {
  it.each([
    ['any', 'any'],
    ['latest-only', 'latest-only'],
    ['min-version:42', 'min-version:42'],
    ['min-version:042', 'min-version:042'],
    ['min-version:step-3', 'min-version:step-3'],
    ['min-version:a:b', 'min-version:a:b'],
    ['max-staleness:2', 'max-staleness:2'],
    ['max-staleness:0', 'max-staleness:0'],
    ['max-staleness:+2', 'max-staleness:2'],
    ['max-staleness:007', 'max-staleness:7'],
    ['max-staleness:18446744073709551615', 'max-staleness:18446744073709551615'],
  ])('%s prints as %s', (text, canonical) => {
    const parsed = parseVersionPolicy(text);
    expect(parsed.ok && printVersionPolicy(parsed.policy)).toBe(canonical);
  });

  it.each([
    ['', GRAMMAR],
    ['Any', GRAMMAR],
    ['ANY', GRAMMAR],
    ['latest', GRAMMAR],
    ['newest', GRAMMAR],
    ['freshest', GRAMMAR],
    ['garbage', GRAMMAR],
    [' any', GRAMMAR],
    ['any ', GRAMMAR],
    ['min-version', GRAMMAR],
    ['min-version:', FLOOR],
    ['min-version:a b', FLOOR],
    ['min-version:a\u0085', FLOOR],
    ['max-staleness:', DISTANCE],
    ['max-staleness:x', DISTANCE],
    ['max-staleness:-1', DISTANCE],
    ['max-staleness:1.5', DISTANCE],
    ['max-staleness: 1', DISTANCE],
    ['max-staleness:1 ', DISTANCE],
    ['max-staleness:18446744073709551616', DISTANCE],
  ])('%j is refused', (text, reason) => {
    expect(parseVersionPolicy(text)).toEqual({ ok: false, reason });
  });

  it('reads back what it prints', () => {
    const text = fc.oneof(
      fc.constantFrom('any', 'latest-only'),
      fc.stringMatching(/^[!-~]{1,20}$/).map((floor) => `min-version:${floor}`),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((k) => `max-staleness:${k}`),
    );
    fc.assert(
      fc.property(text, (spelled) => {
        const parsed = parseVersionPolicy(spelled);
        expect(parsed.ok && printVersionPolicy(parsed.policy)).toBe(spelled);
      }),
    );
  });
});
