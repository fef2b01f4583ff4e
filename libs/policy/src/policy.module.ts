import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { createHashes, type Hashes } from '@smg/kv-index';
import {
  CANDIDATE_FILTER,
  METRICS,
  type Metrics,
  ROUTING_POLICY,
  WORKER_DIRECTORY,
  type WorkerDirectory,
} from '@smg/plugin-api';
import { PluginHostModule } from '@smg/plugin-host';
import { CandidateFilterChain } from './candidate-filter.chain';
import { BucketFactory } from './core/bucket.policy';
import { CacheAwareFactory } from './core/cache-aware.policy';
import { CacheGauges } from './core/cache-gauges';
import { ConsistentHashingFactory, hashingBranches } from './core/consistent-hashing.policy';
import { KeyMetrics } from './core/key-metrics';
import { LabelFilter } from './core/label-filter';
import { LeastLoadFactory } from './core/least-load.policy';
import { ManualFactory } from './core/manual.policy';
import { PassthroughFactory } from './core/passthrough.policy';
import { PowerOfTwoFactory } from './core/power-of-two.policy';
import { PrefixHashFactory, prefixBranches } from './core/prefix-hash.policy';
import { RandomFactory } from './core/random.policy';
import { RoundRobinFactory } from './core/round-robin.policy';
import { StickyKeys } from './core/sticky-keys';
import { POLICY_OPTIONS, type PolicyOptions, STICKY_KEYS } from './policy-options';
import { PolicyRegistry } from './policy.registry';
import { SelectionCounter } from './selection-counter';
import { WorkerSelector } from './worker.selector';

/** Hash functions, compiled once: a worker's label may ask for a policy that hashes at any time. */
const HASHES = 'smg:policy-hashes';

/** What RFC 9110 lets a field name be. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** The label filter, when a header is configured for it. @throws Error on an illegal header name. */
function labelFilter(header: string | undefined): Provider[] {
  const name = header?.trim().toLowerCase() ?? '';
  if (name === '') return [];
  if (!HEADER_NAME.test(name)) {
    throw new Error(`the worker filter header ${JSON.stringify(header)} is no legal header name`);
  }
  return CANDIDATE_FILTER.provide({
    label: 'LabelFilter',
    useFactory: () => new LabelFilter(name),
  });
}

function builtInPolicies(): Provider[] {
  return [
    ...ROUTING_POLICY.provide(BucketFactory),
    ...ROUTING_POLICY.provide({
      label: 'CacheAwareFactory',
      useFactory: (metrics: Metrics, hashes: Hashes) =>
        new CacheAwareFactory({ hashes, gauges: new CacheGauges(metrics) }),
      inject: [METRICS, HASHES],
    }),
    ...ROUTING_POLICY.provide({
      label: 'ConsistentHashingFactory',
      useFactory: (metrics: Metrics, hashes: Hashes) =>
        new ConsistentHashingFactory(hashes, hashingBranches(metrics)),
      inject: [METRICS, HASHES],
    }),
    ...ROUTING_POLICY.provide(LeastLoadFactory),
    ...ROUTING_POLICY.provide({
      label: 'ManualFactory',
      useFactory: (metrics: KeyMetrics) => new ManualFactory(metrics),
      inject: [KeyMetrics],
    }),
    ...ROUTING_POLICY.provide(PassthroughFactory),
    ...ROUTING_POLICY.provide(PowerOfTwoFactory),
    ...ROUTING_POLICY.provide({
      label: 'PrefixHashFactory',
      useFactory: (metrics: Metrics, hashes: Hashes) =>
        new PrefixHashFactory(hashes, prefixBranches(metrics)),
      inject: [METRICS, HASHES],
    }),
    ...ROUTING_POLICY.provide(RandomFactory),
    ...ROUTING_POLICY.provide(RoundRobinFactory),
  ];
}

/** Filters, policies and the selector; our own register the way a plug-in's do. */
@Module({})
export class PolicyModule {
  static forRoot(options: PolicyOptions): DynamicModule {
    return {
      module: PolicyModule,
      imports: [PluginHostModule],
      providers: [
        { provide: POLICY_OPTIONS, useValue: options },
        ...labelFilter(options.workerFilterHeader),
        { provide: HASHES, useFactory: createHashes },
        {
          provide: KeyMetrics,
          useFactory: (metrics: Metrics) => new KeyMetrics(metrics),
          inject: [METRICS],
        },
        {
          provide: STICKY_KEYS,
          useFactory: (metrics: KeyMetrics, directory: WorkerDirectory) =>
            options.stickyKeys === true
              ? new StickyKeys(options.parameters, metrics, (url) => directory.byUrl(url))
              : undefined,
          inject: [KeyMetrics, WORKER_DIRECTORY],
        },
        ...builtInPolicies(),
        CandidateFilterChain,
        PolicyRegistry,
        SelectionCounter,
        WorkerSelector,
      ],
      exports: [CandidateFilterChain, PolicyRegistry, WorkerSelector],
    };
  }
}
