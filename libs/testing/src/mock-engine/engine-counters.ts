import { type RecordedRequest } from './recorded-request';

/** Paths counted one by one; further ones are only in the totals. */
const MAX_ROUTES = 256;

/** Running totals of a mock engine; they do not depend on how many requests are kept. */
export class EngineCounters {
  /** Requests whose head arrived. */
  received = 0;
  inFlight = 0;
  /** Most in flight at once. */
  peak = 0;
  /** Answered to the end. */
  served = 0;
  /** Left by the client before the end of the answer. */
  aborted = 0;
  /** Received, by path. */
  readonly byRoute = new Map<string, number>();

  /** Received on one path. */
  of(route: string): number {
    return this.byRoute.get(route) ?? 0;
  }

  started(request: RecordedRequest): void {
    this.received += 1;
    this.inFlight += 1;
    this.peak = Math.max(this.peak, this.inFlight);
    const known = this.byRoute.get(request.route);
    if (known !== undefined || this.byRoute.size < MAX_ROUTES) {
      this.byRoute.set(request.route, (known ?? 0) + 1);
    }
  }

  ended(request: RecordedRequest): void {
    this.inFlight -= 1;
    if (request.finished) this.served += 1;
    if (request.aborted) this.aborted += 1;
  }
}
