import { type RoutingPolicy, type WorkerView } from '@smg/plugin-api';

// Law: the first worker of a model may name the policy that serves it, in its label `policy`; that
// policy lives until the model's last worker goes. Models without a hint share the default policy.

/** Label by which the first worker of a model names its policy. */
const POLICY_LABEL = 'policy';

interface Model {
  /** Undefined: served by the default policy. */
  readonly policy: RoutingPolicy | undefined;
  workers: number;
}

interface Member {
  worker: WorkerView;
  modelId: string;
}

/** Makes the policy that a label names, or undefined when there is none of that name. */
export type CreateHintedPolicy = (name: string, model: string) => RoutingPolicy | undefined;

/** Model → policy, and the news each policy gets of its workers. */
export class ModelPolicies {
  private readonly models = new Map<string, Model>();
  private readonly members = new Map<string, Member>();
  /** Models that have a policy of their own; almost always none. */
  private hinted = 0;

  constructor(
    private readonly shared: RoutingPolicy,
    private readonly createHinted: CreateHintedPolicy = () => undefined,
  ) {}

  policyFor(model: string): RoutingPolicy {
    if (this.hinted === 0) return this.shared;
    return this.models.get(model)?.policy ?? this.shared;
  }

  /** A worker appeared or was replaced; saying so twice is harmless. */
  join(worker: WorkerView): void {
    const member = this.members.get(worker.id);
    if (member !== undefined) {
      if (member.modelId === worker.modelId) {
        const isSame = member.worker === worker;
        member.worker = worker;
        if (!isSame) this.tellOf(worker, this.models.get(worker.modelId));
        return;
      }
      this.leave(member.worker);
    }
    const model = this.models.get(worker.modelId) ?? this.open(worker);
    model.workers++;
    this.members.set(worker.id, { worker, modelId: worker.modelId });
    this.tellOf(worker, model);
  }

  leave(worker: WorkerView): void {
    const member = this.members.get(worker.id);
    if (member === undefined) return;
    this.members.delete(worker.id);
    const model = this.models.get(member.modelId);
    if (model === undefined) return;
    model.policy?.removeWorker?.(worker);
    this.shared.removeWorker?.(worker);
    if (--model.workers > 0) return;
    this.models.delete(member.modelId);
    if (model.policy === undefined) return;
    this.hinted--;
    model.policy.dispose?.();
  }

  /** New weights in an engine: each of its workers is reset once in every policy that may know it. */
  reset(baseUrl: string): void {
    for (const { worker, modelId } of this.members.values()) {
      if (worker.baseUrl !== baseUrl) continue;
      this.models.get(modelId)?.policy?.resetWorker?.(worker);
      this.shared.resetWorker?.(worker);
    }
  }

  /** A conversation is over, whichever policy knows it. */
  forgetKey(key: string): void {
    for (const { policy } of this.models.values()) policy?.forgetKey?.(key);
    this.shared.forgetKey?.(key);
  }

  dispose(): void {
    for (const model of this.models.values()) model.policy?.dispose?.();
    this.shared.dispose?.();
    this.models.clear();
    this.members.clear();
    this.hinted = 0;
  }

  /** The pool of all models is routed by the default policy, so it knows every worker. */
  private tellOf(worker: WorkerView, model: Model | undefined): void {
    model?.policy?.addWorker?.(worker);
    this.shared.addWorker?.(worker);
  }

  private open(worker: WorkerView): Model {
    const hint = worker.labels.get(POLICY_LABEL);
    const policy =
      hint === undefined || hint === '' ? undefined : this.createHinted(hint, worker.modelId);
    if (policy !== undefined) this.hinted++;
    const model = { policy, workers: 0 };
    this.models.set(worker.modelId, model);
    return model;
  }
}
