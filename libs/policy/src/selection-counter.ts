import { Inject, Injectable } from '@nestjs/common';
import {
  METRICS,
  type CounterCell,
  type MetricFamily,
  type Metrics,
  type SelectionOutcome,
  type WorkerView,
} from '@smg/plugin-api';

/** Distinct `model` label values; model names come from workers, but must not fill a dashboard. */
const MAX_MODELS = 1024;
const OTHER_MODEL = 'other';

/** The outcome "this worker" of a {@link SelectionOutcome}. */
export type Selected = Extract<SelectionOutcome, { readonly kind: 'selected' }>;

interface Entry {
  readonly model: string;
  readonly policy: string;
  readonly outcome: Selected;
  readonly cell: CounterCell;
  /** The same worker, picked for another pool. */
  readonly next: Entry | undefined;
}

/**
 * Counts selections in `smg_worker_selection_total`, and keeps one frozen outcome per worker, so that
 * a selection makes no garbage.
 */
@Injectable()
export class SelectionCounter {
  private readonly family: MetricFamily<CounterCell>;
  private readonly entries = new WeakMap<WorkerView, Entry>();
  private readonly models = new Set<string>();

  constructor(@Inject(METRICS) metrics: Metrics) {
    this.family = metrics.counter({
      name: 'smg_worker_selection_total',
      help: 'Workers picked, by worker type, connection mode, model and policy.',
      labels: ['worker_type', 'connection_mode', 'model', 'policy'],
    });
  }

  /** Counts one selection. @returns the outcome to answer with. */
  selected(worker: WorkerView, model: string, policy: string): Selected {
    let entry = this.entries.get(worker);
    while (entry !== undefined && (entry.model !== model || entry.policy !== policy)) {
      entry = entry.next;
    }
    entry ??= this.open(worker, model, policy);
    entry.cell.inc();
    return entry.outcome;
  }

  private open(worker: WorkerView, model: string, policy: string): Entry {
    const label = this.models.has(model) || this.models.size < MAX_MODELS ? model : OTHER_MODEL;
    if (label === model) this.models.add(model);
    const entry: Entry = {
      model,
      policy,
      outcome: Object.freeze({ kind: 'selected', worker }),
      cell: this.family.cell(worker.workerType, worker.connectionMode, label, policy),
      next: this.entries.get(worker),
    };
    this.entries.set(worker, entry);
    return entry;
  }
}
