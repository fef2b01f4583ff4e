import { ROUTING_KEY } from '@smg/protocol';
import { choice, openChoice } from '../kinds/choices';
import { csv, flag, list, one, optional, refine } from '../kinds/combine';
import { atLeast, fraction, positive, seconds, share, u32, usize } from '../kinds/numbers';
import { headerName, text } from '../kinds/texts';
import { option, unavailable } from '../option';
import { bad, good } from '../parsed';

/** Policies every gateway has. */
export const BUILT_IN_POLICIES = [
  'cache_aware',
  'round_robin',
  'random',
  'power_of_two',
  'passthrough',
] as const;

/** Policies of SMG that are not built yet. */
const LATER_POLICIES = ['least_load', 'prefix_hash', 'consistent_hashing', 'manual', 'bucket'];

const LEG_POLICIES = BUILT_IN_POLICIES.filter((name) => name !== 'passthrough');

/** A header name that may be blank, which switches the feature off. */
const filterHeader = text({
  label: headerName.label,
  rule: `${headerName.rule}; blank means off`,
  check: (value) => (value.trim() === '' ? good('') : headerName.parse(value.trim())),
});

const filterHeaderKind = optional(one(filterHeader));

const ascending = refine(csv(usize(1)), '> 0, strictly ascending', (values) =>
  values.every((value, index) => index === 0 || value > (values[index - 1] ?? 0))
    ? good(values)
    : bad('the boundaries are not strictly ascending'),
);

/** Which worker gets a request. */
export const ROUTING_OPTIONS = [
  option('routing.policy', 'policy', one(openChoice(BUILT_IN_POLICIES, LATER_POLICIES)), {
    default: 'cache_aware',
    doc: 'Routing policy. `power_of_two` needs at least two workers at the start unless --enable-igw is given.',
  }),
  option('routing.cacheThreshold', 'cache-threshold', one(fraction('f32')), {
    default: 0.3,
    aliases: ['cache-match-threshold'],
    doc: 'cache_aware: share of the prompt that must match before a worker counts as a cache hit.',
  }),
  option('routing.balanceAbsThreshold', 'balance-abs-threshold', one(usize()), {
    default: 64,
    aliases: ['spill-abs-threshold'],
    doc: 'cache_aware: difference of load, in requests, from which a hit may spill to another worker.',
  }),
  option('routing.balanceRelThreshold', 'balance-rel-threshold', one(atLeast('f32', 1)), {
    default: 1.5,
    aliases: ['spill-rel-threshold'],
    doc: 'cache_aware: ratio of loads that must be exceeded as well before a hit spills.',
  }),
  // 0 is legal here and refused for cache_aware, the one policy that evicts, among the cross checks.
  option('routing.evictionIntervalSecs', 'eviction-interval', one(seconds()), {
    default: 120,
    aliases: ['eviction-interval-secs'],
    doc: 'Seconds between evictions of the prefix tree; above 0 for cache_aware.',
  }),
  option('routing.maxTreeSize', 'max-tree-size', one(usize(1)), {
    default: 67_108_864,
    doc: 'Characters the prefix tree keeps, summed over workers.',
  }),
  option('routing.routingKeyHeaders', 'routing-key-headers', list(headerName), {
    default: [ROUTING_KEY],
    doc: 'Headers read for a routing key, in order; replaces the default.',
  }),
  option('routing.enableIgw', 'enable-igw', flag, {
    default: false,
    doc: 'Route by model over many models (inference gateway mode); skips the checks that need the start-up workers.',
  }),
  option(
    'routing.workerFilterHeader',
    'worker-filter-header',
    {
      ...filterHeaderKind,
      fromArgs: (words) => blankToUnset(filterHeaderKind.fromArgs(words)),
      fromJson: (value) => blankToUnset(filterHeaderKind.fromJson(value)),
    },
    {
      default: undefined,
      doc: 'Request header whose `key=value` pairs a worker must carry as labels to be chosen.',
    },
  ),
  unavailable('prefill-policy', optional(one(choice(LEG_POLICIES, LATER_POLICIES))), {
    default: undefined,
    defaultText: 'as --policy',
    doc: 'Policy of the prefill leg.',
  }),
  unavailable(
    'decode-policy',
    optional(
      one(
        choice(
          LEG_POLICIES,
          LATER_POLICIES.filter((name) => name !== 'bucket'),
        ),
      ),
    ),
    { default: undefined, defaultText: 'as --policy', doc: 'Policy of the decode leg.' },
  ),
  unavailable('encode-policy', one(choice(['random', 'round_robin', 'consistent_hashing'])), {
    default: 'consistent_hashing',
    doc: 'Policy of the encode leg.',
  }),
  unavailable('balance-token-usage-threshold', one(positive('f32')), {
    default: 1,
    doc: 'Spread of KV-cache use from which load is balanced; 1 or more disables it.',
  }),
  unavailable('overload-token-usage-threshold', one(positive('f32')), {
    default: 1,
    doc: 'KV-cache use from which a worker is avoided; 1 or more disables it.',
  }),
  unavailable('overlap-decay', one(atLeast('f32', 0)), {
    default: 0,
    doc: 'Decay of the worth of a cached prefix.',
  }),
  unavailable('selection-temperature', one(atLeast('f32', 0)), {
    default: 0,
    doc: 'Randomness of the choice among scored workers; 0 always takes the best.',
  }),
  unavailable('block-size', one(usize(1)), { default: 16, doc: 'Page size of the token tree.' }),
  unavailable('cache-boundaries', ascending, {
    default: [],
    doc: 'Token counts at which prefixes are hashed.',
  }),
  unavailable('cache-index', one(choice(['tree', 'hash'])), {
    default: 'tree',
    doc: 'Prefix index; `hash` needs --cache-boundaries.',
  }),
  unavailable('cache-ttl-secs', one(seconds(1)), {
    default: 180,
    doc: 'Life of an entry of the hash index.',
  }),
  unavailable('max-idle-secs', one(seconds()), {
    default: 14_400,
    aliases: ['sticky-key-idle-secs'],
    doc: 'Idle time after which a sticky key is forgotten.',
  }),
  unavailable(
    'assignment-mode',
    optional(one(choice(['random', 'min_load', 'min_group', 'delegate']))),
    {
      default: undefined,
      defaultText: '`random` for manual, `delegate` for sticky keys',
      doc: 'How a new sticky key gets its worker.',
    },
  ),
  unavailable('routing-key-override', flag, {
    default: false,
    aliases: ['sticky-sessions'],
    doc: 'Pin a routing key to the worker that served it.',
  }),
  unavailable('prefix-token-count', one(usize(1)), {
    default: 256,
    doc: 'prefix_hash: tokens hashed.',
  }),
  unavailable('prefix-hash-load-factor', one(atLeast('f64', 1)), {
    default: 1.25,
    doc: 'prefix_hash: load, relative to the mean, from which a worker is passed over.',
  }),
  unavailable('prefix-hash-balance-abs-threshold', one(usize()), {
    default: 10,
    doc: 'prefix_hash: load difference below which balance is not sought.',
  }),
  unavailable('least-load-kv-pressure-weight', one(atLeast('f64', 0)), {
    default: 0.15,
    doc: 'least_load: weight of KV-cache pressure.',
  }),
  unavailable('least-load-default-throughput', one(positive('f64')), {
    default: 2000,
    doc: 'least_load: tokens per second assumed of a worker that reports none.',
  }),
  unavailable('least-load-mean-prefill-tokens', one(u32(1)), {
    default: 1024,
    doc: 'least_load: prompt tokens assumed per waiting request.',
  }),
  unavailable('least-load-max-waiting-requests', one(u32()), {
    default: 0,
    doc: 'least_load: queue length from which a worker is avoided; 0 disables it.',
  }),
  unavailable('dp-minimum-tokens-scheduler', flag, {
    default: false,
    doc: 'Choose the data-parallel rank with the fewest tokens (PD).',
  }),
  unavailable('bucket-adjust-interval-secs', one(seconds(1)), {
    default: 5,
    doc: 'bucket: seconds between adjustments of the boundaries.',
  }),
  unavailable('worker-overload-protection', flag, {
    default: false,
    doc: 'Take overloaded workers out of selection.',
  }),
  unavailable('worker-overload-waiting-requests', optional(one(usize(1))), {
    default: undefined,
    doc: 'Queue length that counts as overload.',
  }),
  unavailable('worker-overload-token-usage', optional(one(share('f64'))), {
    default: undefined,
    doc: 'KV-cache use that counts as overload.',
  }),
  unavailable('load-monitor-interval', one(seconds(1)), {
    default: 10,
    doc: 'Seconds between load reports asked of workers.',
  }),
  unavailable('engine-metrics', flag, {
    default: false,
    doc: 'Export what engines report as `smg_engine_*` metrics.',
  }),
  unavailable('kv-indexer-ttl-secs', optional(one(seconds())), {
    default: undefined,
    doc: 'Life of an entry of the event-driven KV index.',
  }),
  unavailable('kv-indexer-max-entries', optional(one(usize())), {
    default: undefined,
    doc: 'Entries of the event-driven KV index.',
  }),
] as const;

function blankToUnset(parsed: ReturnType<typeof filterHeaderKind.fromJson>) {
  return parsed.ok && parsed.value === '' ? good<string | undefined>(undefined) : parsed;
}
