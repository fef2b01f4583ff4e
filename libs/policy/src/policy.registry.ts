import {
  Inject,
  Injectable,
  Logger,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import {
  ROUTING_POLICY,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type WorkerDirectory,
  type WorkerEvent,
  type WorkerEvents,
} from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';
import { DEFAULT_POLICY_PARAMETERS } from './core/default-parameters';
import { ModelPolicies } from './core/model-policies';
import { POLICY_OPTIONS, type PolicyOptions } from './policy-options';

/** Which policy serves a model; kept up to date by worker events. */
@Injectable()
export class PolicyRegistry implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(PolicyRegistry.name);
  private factories: ReadonlyMap<string, RoutingPolicyFactory> = new Map();
  private models: ModelPolicies | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly collector: ExtensionCollector,
    @Inject(POLICY_OPTIONS) private readonly options: PolicyOptions,
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
  ) {}

  onModuleInit(): void {
    const factories = this.collector.collect(ROUTING_POLICY);
    factories.forEach(assertUsable);
    this.factories = new Map(factories.map((factory) => [factory.name, factory]));
    const { policy, parameters } = this.options;
    const factory = this.factories.get(policy);
    if (factory === undefined) {
      const known = [...this.factories.keys()].sort().join(', ');
      throw new Error(`unknown policy '${policy}'; known policies: ${known}`);
    }
    const models = new ModelPolicies(factory.create(parameters), (name, model) =>
      this.createHinted(name, model),
    );
    this.models = models;
    // Subscribed first, then read: a worker that arrives in between is seen twice, never missed.
    this.unsubscribe = this.events.subscribe((event) => {
      apply(models, event);
    });
    for (const worker of this.directory.all()) models.join(worker);
    this.logger.log(`default policy: ${policy}`);
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
    this.unsubscribe = undefined;
    this.models?.dispose();
  }

  /** The policy that serves `model` (canonical id, or `unknown` for the pool of all). */
  policyFor(model: string): RoutingPolicy {
    if (this.models === undefined) throw new Error('policies are not ready before the start');
    return this.models.policyFor(model);
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
    const own = this.options.parameters;
    return factory.create(
      name === this.options.policy ? own : { ...DEFAULT_POLICY_PARAMETERS, random: own.random },
    );
  }
}

function assertUsable(factory: RoutingPolicyFactory): void {
  if (typeof factory.create !== 'function') {
    throw new Error(`routing policy '${factory.name}' has no create() method`);
  }
}

function apply(models: ModelPolicies, event: WorkerEvent): void {
  switch (event.kind) {
    case 'registered':
    case 'replaced':
      models.join(event.worker);
      return;
    case 'removed':
      models.leave(event.worker);
      return;
    case 'weights_changed':
      models.reset(event.baseUrl);
      return;
    case 'status_changed':
      return;
  }
}
