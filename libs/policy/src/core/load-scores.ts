import {
  type LeastLoadParameters,
  type SelectionContext,
  type WorkerLoadReport,
  type WorkerLoads,
  type WorkerView,
} from '@smg/plugin-api';

// Expected wait of a worker, in seconds where engines report their load, else in requests in flight.
// Source: SMG contract, least_load.

/** KV use that counts as full: beyond it the pressure term would grow without bound. */
const MAX_USAGE = 0.999;

/** What was sent to a worker since its last report. */
interface Tally {
  sequence: number;
  tokens: number;
  requests: number;
}

/** Scores workers; remembers what was sent to each since it last reported. */
export class LoadScores {
  private readonly tallies = new Map<WorkerView, Tally>();

  constructor(
    private readonly loads: WorkerLoads,
    private readonly parameters: LeastLoadParameters,
  ) {}

  reportOf(worker: WorkerView): WorkerLoadReport | undefined {
    return this.loads.reportOf(worker);
  }

  /** Seconds until a request sent now begins, by the worker's own report. */
  reportedWait(worker: WorkerView, report: WorkerLoadReport): number {
    const { meanPrefillTokens, defaultThroughput, kvPressureWeight } = this.parameters;
    const queued =
      report.waitingUncachedTokens > 0
        ? report.waitingUncachedTokens
        : report.waitingRequests * meanPrefillTokens;
    const throughput = report.genThroughput > 0 ? report.genThroughput : defaultThroughput;
    const sent = this.tallyOf(worker, report)?.tokens ?? 0;
    const usage = Math.min(Math.max(report.tokenUsage, 0), MAX_USAGE);
    return (queued + sent) / throughput + kvPressureWeight * (usage / (1 - usage));
  }

  /** The same for a worker without a report, beside workers that have one. */
  guessedWait(worker: WorkerView, nominalThroughput: number): number {
    return (worker.load * this.parameters.meanPrefillTokens) / nominalThroughput;
  }

  /** Tokens per second to assume of a worker that reports none. @param sum over `count` reports. */
  nominal(sum: number, count: number): number {
    return count === 0 ? this.parameters.defaultThroughput : sum / count;
  }

  /** Requests that wait at a worker, those included that it cannot have reported yet. */
  waiting(worker: WorkerView, report: WorkerLoadReport): number {
    return report.waitingRequests + (this.tallyOf(worker, report)?.requests ?? 0);
  }

  /** The request goes to `worker`. */
  dispatched(worker: WorkerView, context: SelectionContext): void {
    const report = this.loads.reportOf(worker);
    if (report === undefined) return;
    let tally = this.tallies.get(worker);
    if (tally === undefined) {
      tally = { sequence: report.sequence, tokens: 0, requests: 0 };
      this.tallies.set(worker, tally);
    } else if (tally.sequence !== report.sequence) {
      tally.sequence = report.sequence;
      tally.tokens = 0;
      tally.requests = 0;
    }
    const known = context.routingTokens()?.length ?? 0;
    tally.tokens += known > 0 ? known : this.parameters.meanPrefillTokens;
    tally.requests += 1;
  }

  forget(worker: WorkerView): void {
    this.tallies.delete(worker);
  }

  private tallyOf(worker: WorkerView, report: WorkerLoadReport): Tally | undefined {
    const tally = this.tallies.get(worker);
    return tally?.sequence === report.sequence ? tally : undefined;
  }
}
