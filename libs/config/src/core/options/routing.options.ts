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
  'least_load',
  'prefix_hash',
  'consistent_hashing',
  'manual',
  'bucket',
] as const;

const PREFILL_POLICIES = BUILT_IN_POLICIES.filter((name) => name !== 'passthrough');
const DECODE_POLICIES = PREFILL_POLICIES.filter((name) => name !== 'bucket');

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
  option('routing.policy', 'policy', one(openChoice(BUILT_IN_POLICIES, [])), {
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
    doc: 'cache_aware: requests above the mean load from which a hit may spill to another worker. bucket: difference of what was sent, in tokens or characters, from which it is evened out.',
  }),
  option('routing.balanceRelThreshold', 'balance-rel-threshold', one(atLeast('f32', 1)), {
    default: 1.5,
    aliases: ['spill-rel-threshold'],
    doc: 'cache_aware and bucket: ratio that must be exceeded as well before a request goes elsewhere.',
  }),
  // 0 is legal here and refused for cache_aware, the one policy that evicts, among the cross checks.
  option('routing.evictionIntervalSecs', 'eviction-interval', one(seconds()), {
    default: 120,
    aliases: ['eviction-interval-secs'],
    doc: 'Seconds between evictions of prefix trees and of idle keys; above 0 for cache_aware, elsewhere 0 means never.',
  }),
  option('routing.maxTreeSize', 'max-tree-size', one(usize(1)), {
    default: 67_108_864,
    doc: 'Characters (tokens, in the token tree) a prefix tree keeps, summed over workers.',
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
  option('routing.prefillPolicy', 'prefill-policy', optional(one(choice(PREFILL_POLICIES))), {
    default: undefined,
    defaultText: 'as --policy',
    doc: 'Policy of the prefill leg.',
  }),
  option('routing.decodePolicy', 'decode-policy', optional(one(choice(DECODE_POLICIES))), {
    default: undefined,
    defaultText: 'as --policy',
    doc: 'Policy of the decode leg.',
  }),
  unavailable('encode-policy', one(choice(['random', 'round_robin', 'consistent_hashing'])), {
    default: 'consistent_hashing',
    doc: 'Policy of the encode leg.',
  }),
  option(
    'routing.balanceTokenUsageThreshold',
    'balance-token-usage-threshold',
    one(positive('f32')),
    {
      default: 1,
      doc: 'cache_aware: spread of KV-cache use above which load alone decides; 1 or more disables it.',
    },
  ),
  option(
    'routing.overloadTokenUsageThreshold',
    'overload-token-usage-threshold',
    one(positive('f32')),
    {
      default: 1,
      doc: 'cache_aware: KV-cache use of any worker above which load alone decides; 1 or more disables it.',
    },
  ),
  option('routing.overlapDecay', 'overlap-decay', one(atLeast('f32', 0)), {
    default: 0,
    doc: 'cache_aware: how fast a cached prefix loses worth with the tokens that wait before it; 0: not.',
  }),
  option('routing.selectionTemperature', 'selection-temperature', one(atLeast('f32', 0)), {
    default: 0,
    doc: 'cache_aware: randomness of the choice among workers that hold a prefix; 0 always takes the best.',
  }),
  option('routing.blockSize', 'block-size', one(usize(1)), {
    default: 16,
    doc: 'cache_aware: tokens per page of the token tree.',
  }),
  option('routing.cacheBoundaries', 'cache-boundaries', ascending, {
    default: [],
    doc: 'prefix_hash and --cache-index hash: token counts at which prefixes are hashed.',
  }),
  option('routing.cacheIndex', 'cache-index', one(choice(['tree', 'hash'])), {
    default: 'tree',
    doc: 'cache_aware: prefix index; `hash` needs --cache-boundaries and requests with token ids.',
  }),
  option('routing.cacheTtlSecs', 'cache-ttl-secs', one(seconds(1)), {
    default: 180,
    doc: 'cache_aware: seconds an entry of the hash index lives without use.',
  }),
  option('routing.maxIdleSecs', 'max-idle-secs', one(seconds()), {
    default: 14_400,
    aliases: ['sticky-key-idle-secs'],
    doc: 'Seconds after which a key of manual or of --routing-key-override that nobody used is forgotten.',
  }),
  option(
    'routing.assignmentMode',
    'assignment-mode',
    optional(one(choice(['random', 'min_load', 'min_group', 'delegate']))),
    {
      default: undefined,
      defaultText: '`random` for manual, `delegate` for sticky keys',
      doc: 'How a key without a worker gets one: any, the least loaded, the one with the fewest keys in flight, or by the policy.',
    },
  ),
  option('routing.routingKeyOverride', 'routing-key-override', flag, {
    default: false,
    aliases: ['sticky-sessions'],
    doc: 'Pin a routing key, or the `rid` of a body, to the worker that served it, whatever the policy.',
  }),
  option('routing.prefixTokenCount', 'prefix-token-count', one(usize(1)), {
    default: 256,
    doc: 'prefix_hash: tokens hashed where no boundary applies; text counts four characters for one.',
  }),
  option('routing.prefixHashLoadFactor', 'prefix-hash-load-factor', one(atLeast('f64', 1)), {
    default: 1.25,
    doc: 'prefix_hash: load, relative to the mean, from which a worker is passed over.',
  }),
  option(
    'routing.prefixHashBalanceAbsThreshold',
    'prefix-hash-balance-abs-threshold',
    one(usize()),
    {
      default: 10,
      doc: 'prefix_hash: requests above the mean that a worker may always have.',
    },
  ),
  option(
    'routing.leastLoadKvPressureWeight',
    'least-load-kv-pressure-weight',
    one(atLeast('f64', 0)),
    {
      default: 0.15,
      doc: 'least_load: weight of KV-cache pressure.',
    },
  ),
  option(
    'routing.leastLoadDefaultThroughput',
    'least-load-default-throughput',
    one(positive('f64')),
    {
      default: 2000,
      doc: 'least_load: tokens per second assumed of a worker that reports none.',
    },
  ),
  option('routing.leastLoadMeanPrefillTokens', 'least-load-mean-prefill-tokens', one(u32(1)), {
    default: 1024,
    doc: 'least_load: prompt tokens assumed per waiting request.',
  }),
  option('routing.leastLoadMaxWaitingRequests', 'least-load-max-waiting-requests', one(u32()), {
    default: 0,
    doc: 'least_load: queue length from which a worker is avoided; 0 disables it.',
  }),
  option('routing.dpMinimumTokens', 'dp-minimum-tokens-scheduler', flag, {
    default: false,
    doc: 'Choose the data-parallel rank with the fewest tokens (PD).',
  }),
  option('routing.bucketAdjustIntervalSecs', 'bucket-adjust-interval-secs', one(seconds(1)), {
    default: 5,
    doc: 'bucket: seconds between adjustments of the boundaries.',
  }),
  option('routing.overloadProtection', 'worker-overload-protection', flag, {
    default: false,
    doc: 'Take overloaded workers out of selection. Alone: from a KV-cache use of 0.9 on.',
  }),
  option(
    'routing.overloadWaitingRequests',
    'worker-overload-waiting-requests',
    optional(one(usize(1))),
    {
      default: undefined,
      doc: 'Waiting requests from which on a worker counts as overloaded; implies --worker-overload-protection.',
    },
  ),
  option('routing.overloadTokenUsage', 'worker-overload-token-usage', optional(one(share('f64'))), {
    default: undefined,
    doc: 'KV-cache use from which on a worker counts as overloaded; implies --worker-overload-protection.',
  }),
  option('routing.loadMonitorIntervalSecs', 'load-monitor-interval', one(seconds(1)), {
    default: 10,
    doc: 'Seconds between load reports asked of workers, while something needs them; also the `Retry-After` of overload answers.',
  }),
  option('routing.engineMetrics', 'engine-metrics', flag, {
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
