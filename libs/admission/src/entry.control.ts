import {
  type AdmissionRequest,
  type EntryControl,
  type EntryListener,
  type EntryPass,
} from '@smg/plugin-api';
import { type CapacityWatch } from './capacity.watch';
import { type EntryGate } from './core/entry-gate';
import { DEFAULT_RANK } from './core/priority-class';
import { type PriorityOf } from './core/priority-of';

/** The gate as the data plane sees it. */
export class GatedEntry implements EntryControl {
  /** @param priority undefined without the priority scheduler, like `capacity`. */
  constructor(
    private readonly gate: EntryGate,
    private readonly priority: PriorityOf | undefined,
    private readonly capacity: CapacityWatch | undefined,
  ) {}

  enter(request: AdmissionRequest, listener: EntryListener): EntryPass {
    const rank = this.priority === undefined ? DEFAULT_RANK : this.priority.of(request);
    return this.gate.enter(rank, listener);
  }

  close(): void {
    this.gate.close();
  }

  /** Nest's hook: neither a timer nor a listener stays. */
  onModuleDestroy(): void {
    this.capacity?.dispose();
    this.gate.dispose();
  }
}
