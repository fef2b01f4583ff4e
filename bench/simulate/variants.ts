import { type RoutingPolicyParameters } from '@smg/plugin-api';

/** A policy with its flags, as an operator would start it. */
export interface Variant {
  /** Short and unique; names the row. */
  readonly name: string;
  /** Value of `--policy`. */
  readonly policy: string;
  /** The flags beside it, as they would be typed. */
  readonly flags: string;
  readonly parameters: Partial<RoutingPolicyParameters>;
  /** `--routing-key-override` */
  readonly isSticky: boolean;
  /** Whether clients send a routing key. */
  readonly hasKeys: boolean;
  /** Whether clients send token ids instead of text alone. */
  readonly hasTokens: boolean;
  /** Whether engines answer when asked for their load. */
  readonly hasReports: boolean;
}

type Extra = Partial<Omit<Variant, 'policy' | 'name'>>;

function variant(policy: string, suffix = '', extra: Extra = {}): Variant {
  return {
    name: policy + suffix,
    policy,
    flags: '',
    parameters: {},
    isSticky: false,
    hasKeys: false,
    hasTokens: false,
    hasReports: true,
    ...extra,
  };
}

const BOUNDARIES: readonly number[] = Object.freeze([256, 1_024, 4_096]);

/** Every built-in policy at its defaults, and variants worth choosing; in the order of the tables. */
export const VARIANTS: readonly Variant[] = [
  variant('cache_aware'),
  variant('cache_aware', ' tight', {
    flags: '--balance-abs-threshold 8',
    parameters: { balanceAbsThreshold: 8 },
  }),
  variant('cache_aware', ' large', {
    flags: '--balance-abs-threshold 8 --max-tree-size 536870912',
    parameters: { balanceAbsThreshold: 8, maxTreeSize: 536_870_912 },
  }),
  variant('cache_aware', ' hash', {
    flags: `--cache-index hash --cache-boundaries ${BOUNDARIES.join(' ')} --balance-abs-threshold 8`,
    parameters: { cacheIndex: 'hash', cacheBoundaries: BOUNDARIES, balanceAbsThreshold: 8 },
    hasTokens: true,
  }),
  variant('prefix_hash'),
  variant('consistent_hashing', '', { hasKeys: true }),
  variant('manual', '', { hasKeys: true }),
  variant('manual', ' min_load', {
    flags: '--assignment-mode min_load',
    parameters: { assignmentMode: 'min_load' },
    hasKeys: true,
  }),
  variant('least_load'),
  variant('least_load', ' blind', { hasReports: false }),
  variant('least_load', ' sticky', {
    flags: '--routing-key-override',
    isSticky: true,
    hasKeys: true,
    hasReports: false,
  }),
  variant('power_of_two'),
  variant('bucket'),
  variant('round_robin'),
  variant('random'),
  variant('passthrough'),
];

/** Variants whose name contains one of `wanted`; all without. @throws Error when none does. */
export function chooseVariants(wanted: readonly string[]): readonly Variant[] {
  if (wanted.length === 0) return VARIANTS;
  const chosen = VARIANTS.filter(({ name }) => wanted.some((part) => name.includes(part)));
  if (chosen.length > 0) return chosen;
  throw new Error(
    `--only: no such policy; known: ${VARIANTS.map(({ name }) => `'${name}'`).join(', ')}`,
  );
}
