import {
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerLoadReport,
  type WorkerView,
} from '@smg/plugin-api';
import { LoadScores } from './load-scores';
import { ScanCopy } from './scan-copy';

/** The lowest expected wait; ties are uniform. Source: SMG contract, least_load. */
export class LeastLoadPolicy implements RoutingPolicy {
  readonly name = 'least_load';
  readonly readsBody = false;
  private readonly scores: LoadScores;
  private readonly maxWaiting: number;
  private readonly random: () => number;
  /** Reports of the candidates of this call, by index: each is looked up once. */
  private readonly reports: (WorkerLoadReport | undefined)[] = [];
  private nominal = 0;
  private readonly scan = new ScanCopy();

  constructor({ loads, leastLoad, random }: RoutingPolicyParameters) {
    this.scores = new LoadScores(loads, leastLoad);
    this.maxWaiting = leastLoad.maxWaitingRequests;
    this.random = random;
  }

  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    const [only] = candidates;
    if (candidates.length === 1 && this.maxWaiting === 0 && only !== undefined) {
      this.scores.dispatched(only, context);
      return only;
    }
    const walked = this.scan.of(candidates);
    if (!this.read(walked)) return this.fewestInFlight(walked);
    const picked = this.shortestWait(walked);
    if (picked !== undefined) this.scores.dispatched(picked, context);
    return picked;
  }

  removeWorker(worker: WorkerView): void {
    this.scores.forget(worker);
    this.scan.drop();
    this.reports.length = 0;
  }

  /** Looks the reports up. @returns whether there is any. */
  private read(candidates: readonly WorkerView[]): boolean {
    const { reports, scores } = this;
    reports.length = candidates.length;
    let hasAny = false;
    let sum = 0;
    let count = 0;
    for (let i = 0; i < candidates.length; i++) {
      const worker = candidates[i];
      const report = worker === undefined ? undefined : scores.reportOf(worker);
      reports[i] = report;
      if (report === undefined) continue;
      hasAny = true;
      if (report.genThroughput <= 0) continue;
      sum += report.genThroughput;
      count += 1;
    }
    this.nominal = scores.nominal(sum, count);
    return hasAny;
  }

  private fewestInFlight(candidates: readonly WorkerView[]): WorkerView | undefined {
    let best: WorkerView | undefined;
    let least = Infinity;
    let ties = 1;
    for (const worker of candidates) {
      if (worker.load < least) {
        best = worker;
        least = worker.load;
        ties = 1;
      } else if (worker.load === least && this.random() * ++ties < 1) {
        best = worker;
      }
    }
    return best;
  }

  private shortestWait(candidates: readonly WorkerView[]): WorkerView | undefined {
    let best: WorkerView | undefined;
    let least = Infinity;
    let ties = 1;
    for (let i = 0; i < candidates.length; i++) {
      const worker = candidates[i];
      if (worker === undefined || this.isFull(worker, this.reports[i])) continue;
      const score = this.scoreOf(worker, this.reports[i]);
      if (score < least) {
        best = worker;
        least = score;
        ties = 1;
      } else if (score === least && this.random() * ++ties < 1) {
        best = worker;
      }
    }
    return best;
  }

  private isFull(worker: WorkerView, report: WorkerLoadReport | undefined): boolean {
    if (this.maxWaiting === 0 || report === undefined) return false;
    return this.scores.waiting(worker, report) >= this.maxWaiting;
  }

  private scoreOf(worker: WorkerView, report: WorkerLoadReport | undefined): number {
    return report === undefined
      ? this.scores.guessedWait(worker, this.nominal)
      : this.scores.reportedWait(worker, report);
  }
}

/** `--policy least_load` */
export class LeastLoadFactory implements RoutingPolicyFactory {
  readonly name = 'least_load';

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new LeastLoadPolicy(parameters);
  }
}
