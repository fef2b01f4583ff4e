import { bad, good, type Parsed } from '../parsed';
import { show } from '../show';
import { text } from './texts';

const U64_MAX = 18_446_744_073_709_551_615n;
/** Unicode's White_Space; JavaScript's own class lacks U+0085 and has U+FEFF. */
const WHITESPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const MIN_VERSION = 'min-version:';
const MAX_STALENESS = 'max-staleness:';

function refuse(value: string, reason: string): Parsed<string> {
  return bad(`${show(value)} - ${reason}`);
}

/**
 * A version policy in its canonical spelling. The grammar is that of the `x-smg-version-policy` header
 * (which the RL control plane reads), without its trimming: SMG RL contract 5.1. A contract test holds
 * the two readers together.
 */
export const versionPolicy = text({
  label: 'version policy',
  rule: 'any, latest-only, min-version:<v> or max-staleness:<k>',
  check: (value) => {
    if (value === 'any' || value === 'latest-only') return good(value);
    if (value.startsWith(MIN_VERSION)) {
      const floor = value.slice(MIN_VERSION.length);
      return floor !== '' && !WHITESPACE.test(floor)
        ? good(value)
        : refuse(value, 'min-version needs a version with no whitespace');
    }
    if (value.startsWith(MAX_STALENESS)) {
      const digits = /^\+?(\d+)$/.exec(value.slice(MAX_STALENESS.length))?.[1];
      const steps = digits === undefined ? undefined : BigInt(digits);
      return steps !== undefined && steps <= U64_MAX
        ? good(`${MAX_STALENESS}${steps}`)
        : refuse(value, 'max-staleness needs a decimal integer');
    }
    return refuse(value, 'expected any | latest-only | min-version:<v> | max-staleness:<k>');
  },
});
