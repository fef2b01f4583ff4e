import { Logger } from '@nestjs/common';
import { type WorkerDirectory, type WorkerEvents } from '@smg/plugin-api';
import { type EntryGate } from './core/entry-gate';
import { type ClassTable } from './core/priority-class';
import { capacityOf } from './core/worker-capacity';

/** Keeps the capacity of the gate equal to what the ready workers run at once. */
export class CapacityWatch {
  private readonly logger = new Logger('admission');
  private capacity: number | undefined;
  /** Undefined until the capacity is known. */
  private isScheduled: boolean | undefined;
  private readonly unsubscribe: () => void;

  /** @param permits capacity while no worker is ready; 0 or less is unknown. */
  constructor(
    private readonly gate: EntryGate,
    private classes: ClassTable,
    private readonly permits: number,
    private readonly directory: WorkerDirectory,
    events: WorkerEvents,
  ) {
    this.settle();
    this.unsubscribe = events.subscribe(({ kind }) => {
      if (kind !== 'weights_changed') this.refresh();
    });
  }

  /** Other classes from now on. */
  replace(classes: ClassTable): void {
    this.classes = classes;
    this.settle();
  }

  dispose(): void {
    this.unsubscribe();
  }

  private refresh(): void {
    if (this.measure() !== this.capacity) this.settle();
  }

  private settle(): void {
    this.capacity = this.measure();
    const { isScheduled, reserved } = this.gate.settle(this.classes, this.capacity);
    if (this.capacity === undefined || isScheduled === this.isScheduled) return;
    const wasScheduled = this.isScheduled;
    this.isScheduled = isScheduled;
    if (!isScheduled) {
      const instead =
        this.permits > 0
          ? `--max-concurrent-requests ${this.permits} holds instead`
          : 'nothing limits requests in flight instead, as --max-concurrent-requests is not given';
      this.logger.warn(
        `the priority classes reserve ${reserved} slots, more than the capacity of ${this.capacity}: priorities are not kept, and ${instead}`,
      );
    } else if (wasScheduled === false) {
      this.logger.log(`priorities are kept again: ${this.capacity} slots, ${reserved} reserved`);
    }
  }

  /** While no worker is ready, what was known last says more than nothing. */
  private measure(): number | undefined {
    const sum = capacityOf(this.directory.all());
    if (sum > 0) return sum;
    return this.permits > 0 ? this.permits : this.capacity;
  }
}
