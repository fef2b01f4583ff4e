import { bad, good, type Parsed } from '../parsed';
import { show, showJson } from '../show';
import { type Scalar } from './kind';

const U32_MAX = 4_294_967_295;
const I32_MAX = 2_147_483_647;

interface Range {
  /** Inclusive. */
  readonly min: number;
  /** Inclusive. */
  readonly max: number;
}

/** Values outside are moved to the edge, with a warning, instead of refused. */
type Clamp = Partial<Range>;

interface IntegerSpec extends Range {
  readonly label: string;
  readonly clamp?: Clamp;
}

function ruleOf({ min, max }: Range): string {
  return max === Number.MAX_SAFE_INTEGER ? `>= ${min}` : `${min}..=${max}`;
}

/** -0 prints as 0, so it is 0. */
function unsigned(value: number): number {
  return value === 0 ? 0 : value;
}

function outside(value: string, range: Range): string {
  const rule = ruleOf(range);
  return `${value} is not ${rule.startsWith('>') ? rule : `in ${rule}`}`;
}

export function integer(spec: IntegerSpec): Scalar<number> {
  const check = (value: number, shown: string): Parsed<number> => {
    if (value < spec.min || value > spec.max) return bad(outside(shown, spec));
    const clamped = Math.min(
      Math.max(value, spec.clamp?.min ?? spec.min),
      spec.clamp?.max ?? spec.max,
    );
    return clamped === value
      ? good(unsigned(value))
      : good(clamped, `${shown} is taken as ${clamped}`);
  };
  return {
    label: spec.label,
    rule: ruleOf(spec),
    parse: (text) =>
      // Plain decimal only: 0x10, 1e3 and 1_000 are more often slips than intentions.
      /^[+-]?\d+$/.test(text)
        ? check(Number(text), show(text))
        : bad(`${show(text)} is not an integer`),
    json: (value) =>
      typeof value === 'number' && Number.isInteger(value)
        ? check(value, show(value))
        : bad(`expected an integer, got ${showJson(value)}`),
    toJson: (value) => value,
  };
}

export const u16 = (min = 0): Scalar<number> => integer({ label: 'u16', min, max: 65_535 });

export const u32 = (min = 0, clamp: Clamp = {}): Scalar<number> =>
  integer({ label: 'u32', min, max: U32_MAX, clamp });

export const i32 = (min = -I32_MAX - 1): Scalar<number> =>
  integer({ label: 'i32', min, max: I32_MAX });

/** A count or a size; 64-bit values beyond 2^53 - 1 are refused rather than rounded. */
export const usize = (min = 0, max = Number.MAX_SAFE_INTEGER): Scalar<number> =>
  integer({ label: 'usize', min, max });

/** Node timers hold at most 2^31 - 1 ms, about 24 days; a longer wait would fire at once. */
const TIMER_MAX_MS = I32_MAX;
const TIMER_MAX_SECS = Math.floor(TIMER_MAX_MS / 1000);

const wholeTime = (label: string, min: number, clamp: Clamp): Scalar<number> =>
  integer({ label, min, max: Number.MAX_SAFE_INTEGER, clamp });

export const seconds = (min = 0, atLeast = min): Scalar<number> =>
  wholeTime('u64 s', min, { min: atLeast, max: TIMER_MAX_SECS });

export const milliseconds = (min = 0): Scalar<number> =>
  wholeTime('u64 ms', min, { max: TIMER_MAX_MS });

interface DecimalSpec {
  readonly label: 'f32' | 'f64';
  readonly rule: string;
  readonly accepts: (value: number) => boolean;
}

export function decimal({ label, rule, accepts }: DecimalSpec): Scalar<number> {
  const check = (value: number, shown: string): Parsed<number> =>
    Number.isFinite(value) && accepts(value)
      ? good(unsigned(value))
      : bad(`${shown} is not ${rule}`);
  return {
    label,
    rule,
    parse: (text) =>
      /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)
        ? check(Number(text), show(text))
        : bad(`${show(text)} is not a number`),
    json: (value) =>
      typeof value === 'number'
        ? check(value, show(value))
        : bad(`expected a number, got ${showJson(value)}`),
    toJson: (value) => value,
  };
}

type Float = 'f32' | 'f64';

export const fraction = (label: Float): Scalar<number> =>
  decimal({ label, rule: 'in 0..=1', accepts: (value) => value >= 0 && value <= 1 });

export const atLeast = (label: Float, min: number): Scalar<number> =>
  decimal({ label, rule: `>= ${min}`, accepts: (value) => value >= min });

export const positive = (label: Float): Scalar<number> =>
  decimal({ label, rule: '> 0', accepts: (value) => value > 0 });

/** Above 0, up to and including 1. */
export const share = (label: Float): Scalar<number> =>
  decimal({ label, rule: 'in (0, 1]', accepts: (value) => value > 0 && value <= 1 });
