import { type CounterCell, type MetricFamily, type Metrics } from '@smg/plugin-api';

/** A counter by branch of a decision; a series appears with its first event. */
export class BranchCounter<B extends string> {
  private readonly family: MetricFamily<CounterCell>;
  private readonly cells = new Map<B, CounterCell>();

  constructor(metrics: Metrics, name: string, help: string, label = 'branch') {
    this.family = metrics.counter({ name, help, labels: [label] });
  }

  count(branch: B): void {
    let cell = this.cells.get(branch);
    if (cell === undefined) {
      cell = this.family.cell(branch);
      this.cells.set(branch, cell);
    }
    cell.inc();
  }
}
