import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { CANDIDATE_FILTER, ROUTING_POLICY } from '@smg/plugin-api';
import { PluginHostModule } from '@smg/plugin-host';
import { CandidateFilterChain } from './candidate-filter.chain';
import { CacheAwareFactory } from './core/cache-aware.policy';
import { LabelFilter } from './core/label-filter';
import { PassthroughFactory } from './core/passthrough.policy';
import { PowerOfTwoFactory } from './core/power-of-two.policy';
import { RandomFactory } from './core/random.policy';
import { RoundRobinFactory } from './core/round-robin.policy';
import { POLICY_OPTIONS, type PolicyOptions } from './policy-options';
import { PolicyRegistry } from './policy.registry';
import { SelectionCounter } from './selection-counter';
import { WorkerSelector } from './worker.selector';

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
        ...ROUTING_POLICY.provide(CacheAwareFactory),
        ...ROUTING_POLICY.provide(PassthroughFactory),
        ...ROUTING_POLICY.provide(PowerOfTwoFactory),
        ...ROUTING_POLICY.provide(RandomFactory),
        ...ROUTING_POLICY.provide(RoundRobinFactory),
        CandidateFilterChain,
        PolicyRegistry,
        SelectionCounter,
        WorkerSelector,
      ],
      exports: [CandidateFilterChain, PolicyRegistry, WorkerSelector],
    };
  }
}
