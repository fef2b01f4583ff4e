import { type WorkerLoadReport, type WorkerLoads, type WorkerView } from '@smg/plugin-api';

/** Load reports that a test writes; each `report` is a new poll. */
export class FakeLoads implements WorkerLoads {
  private readonly reports = new Map<string, WorkerLoadReport>();
  private sequence = 0;

  report(worker: WorkerView, load: Partial<WorkerLoadReport> = {}): this {
    this.reports.set(worker.url, {
      sequence: ++this.sequence,
      runningRequests: 0,
      waitingRequests: 0,
      waitingUncachedTokens: 0,
      tokenUsage: 0,
      genThroughput: 0,
      cacheHitRate: undefined,
      ranks: [],
      ...load,
    });
    return this;
  }

  fail(worker: WorkerView): void {
    this.reports.delete(worker.url);
  }

  reportOf(worker: WorkerView): WorkerLoadReport | undefined {
    return this.reports.get(worker.url);
  }
}
