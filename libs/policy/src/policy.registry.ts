import {
  Inject,
  Injectable,
  Logger,
  type OnModuleDestroy,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import {
  ROUTING_POLICY,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  WORKER_LOADS,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionLeg,
  type WorkerDirectory,
  type WorkerEvent,
  type WorkerEvents,
  type WorkerLoads,
} from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';
import { DEFAULT_POLICY_PARAMETERS } from './core/default-parameters';
import { LegPolicies } from './core/leg-policies';
import { ModelPolicies } from './core/model-policies';
import { POLICY_OPTIONS, type PolicyOptions } from './policy-options';

/** Which policy serves a model; kept up to date by worker events. */
@Injectable()
export class PolicyRegistry implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(PolicyRegistry.name);
  private readonly parameters: RoutingPolicyParameters;
  private factories: ReadonlyMap<string, RoutingPolicyFactory> = new Map();
  private legs: LegPolicies | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly collector: ExtensionCollector,
    @Inject(POLICY_OPTIONS) private readonly options: PolicyOptions,
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    @Optional() @Inject(WORKER_LOADS) loads?: WorkerLoads,
  ) {
    const { parameters } = options;
    this.parameters = loads === undefined ? parameters : { ...parameters, loads };
  }

  onModuleInit(): void {
    const factories = this.collector.collect(ROUTING_POLICY);
    factories.forEach(assertUsable);
    this.factories = new Map(factories.map((factory) => [factory.name, factory]));
    const { policy, prefillPolicy = policy, decodePolicy = policy } = this.options;
    const regular = this.factoryOf(policy);
    const prefill = this.factoryOf(prefillPolicy);
    const decode = this.factoryOf(decodePolicy);
    const legs = new LegPolicies({
      regular: () =>
        new ModelPolicies(regular.create(this.parameters), (name, model) =>
          this.createHinted(name, model),
        ),
      prefill: () => new ModelPolicies(prefill.create(this.parameters)),
      decode: () => new ModelPolicies(decode.create(this.parameters)),
    });
    this.legs = legs;
    // Subscribed first, then read: a worker that arrives in between is seen twice, never missed.
    this.unsubscribe = this.events.subscribe((event) => {
      apply(legs, event);
    });
    for (const worker of this.directory.all()) legs.join(worker);
    this.logger.log(`default policy: ${policy}`);
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
    this.unsubscribe = undefined;
    this.legs?.dispose();
  }

  /**
   * The policy that serves `model` (canonical id, or `unknown` for the pool of all). A leg of a pair
   * has one policy for all models.
   */
  policyFor(model: string, leg: SelectionLeg = 'regular'): RoutingPolicy {
    if (this.legs === undefined) throw new Error('policies are not ready before the start');
    return this.legs.of(leg).policyFor(model);
  }

  /** A conversation is over: no policy keeps its key any more. */
  forgetKey(key: string): void {
    this.legs?.forgetKey(key);
  }

  private factoryOf(name: string): RoutingPolicyFactory {
    const factory = this.factories.get(name);
    if (factory !== undefined) return factory;
    const known = [...this.factories.keys()].sort().join(', ');
    throw new Error(`unknown policy '${name}'; known policies: ${known}`);
  }

  /** A policy that a worker's label asked for; undefined leaves the model with the default. */
  private createHinted(name: string, model: string): RoutingPolicy | undefined {
    const factory = this.factories.get(name);
    if (factory === undefined) {
      this.logger.warn(
        { model, policy: name },
        "a worker's policy label names no known policy; the default policy serves its model",
      );
      return undefined;
    }
    const own = this.parameters;
    if (name === this.options.policy) return factory.create(own);
    const { random, loads } = own;
    return factory.create({ ...DEFAULT_POLICY_PARAMETERS, random, loads });
  }
}

function assertUsable(factory: RoutingPolicyFactory): void {
  if (typeof factory.create !== 'function') {
    throw new Error(`routing policy '${factory.name}' has no create() method`);
  }
}

function apply(legs: LegPolicies, event: WorkerEvent): void {
  switch (event.kind) {
    case 'registered':
    case 'replaced':
      legs.join(event.worker);
      return;
    case 'removed':
      legs.leave(event.worker);
      return;
    case 'weights_changed':
      legs.reset(event.baseUrl);
      return;
    case 'status_changed':
      return;
  }
}
