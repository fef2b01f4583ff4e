import { type SelectionLeg, type WorkerView } from '@smg/plugin-api';
import { type ModelPolicies } from './model-policies';

const LEGS: readonly SelectionLeg[] = ['regular', 'prefill', 'decode'];

/**
 * The policies of each leg. Those of prefill and decode are made with the first worker or request of
 * theirs: a gateway without pairs has none.
 */
export class LegPolicies {
  private readonly made: Record<SelectionLeg, ModelPolicies | undefined>;

  constructor(private readonly make: Readonly<Record<SelectionLeg, () => ModelPolicies>>) {
    this.made = { regular: make.regular(), prefill: undefined, decode: undefined };
  }

  of(leg: SelectionLeg): ModelPolicies {
    return (this.made[leg] ??= this.make[leg]());
  }

  /** A worker appeared or was replaced, perhaps for another leg; saying so twice is harmless. */
  join(worker: WorkerView): void {
    const own = legOf(worker);
    for (const leg of LEGS) if (leg !== own) this.made[leg]?.leave(worker);
    this.of(own).join(worker);
  }

  leave(worker: WorkerView): void {
    for (const leg of LEGS) this.made[leg]?.leave(worker);
  }

  reset(baseUrl: string): void {
    for (const leg of LEGS) this.made[leg]?.reset(baseUrl);
  }

  forgetKey(key: string): void {
    for (const leg of LEGS) this.made[leg]?.forgetKey(key);
  }

  dispose(): void {
    for (const leg of LEGS) this.made[leg]?.dispose();
  }
}

function legOf({ workerType }: WorkerView): SelectionLeg {
  return workerType === 'prefill' || workerType === 'decode' ? workerType : 'regular';
}
