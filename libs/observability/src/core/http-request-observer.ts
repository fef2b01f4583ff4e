import {
  type CounterCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
  type RequestObserver,
  type RequestRecord,
} from '@smg/plugin-api';
import { accessLevel, type AccessLevel, renderAccessLine } from './access-line';
import { AGE_BOUNDS_SECS, InFlightAges } from './in-flight-ages';
import { LabelCap, OTHER_LABEL } from './label-cap';

/** Where access lines go. */
export interface AccessSink {
  /** Asked before a line is built. */
  accepts(level: AccessLevel): boolean;
  /** @param line ends with a newline. */
  write(line: string): void;
}

/** Clock readings in milliseconds. */
export interface ObserverClock {
  /** Since 1970. */
  unixMs(): number;
  /** Never goes back. */
  monotonicMs(): number;
}

// The parser of Node accepts some thirty methods; a client must not choose among that many series.
const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

interface MethodCells {
  readonly requests: CounterCell;
  readonly duration: HistogramCell;
}

/** Cells of one route, found without building a key. */
interface RouteCells {
  readonly path: string;
  readonly methods: Map<string, MethodCells>;
  /** Relayed and successful answers, by status. */
  readonly plain: Map<number, CounterCell>;
  /** Errors the gateway made, by code and then status. */
  readonly coded: Map<string, Map<number, CounterCell>>;
}

/** Counts requests in cells kept per route, and writes one access line each. */
export class HttpRequestObserver implements RequestObserver {
  private readonly ages = new InFlightAges();
  private readonly routes = new Map<string, RouteCells>();
  private readonly paths = new LabelCap();
  private readonly requests: MetricFamily<CounterCell>;
  private readonly durations: MetricFamily<HistogramCell>;
  private readonly responses: MetricFamily<CounterCell>;
  finishedTotal = 0;

  constructor(
    metrics: Metrics,
    private readonly sink: AccessSink,
    private readonly clock: ObserverClock,
  ) {
    this.requests = metrics.counter({
      name: 'smg_http_requests_total',
      help: 'HTTP requests finished, by method and route.',
      labels: ['method', 'path'],
    });
    this.durations = metrics.histogram({
      name: 'smg_http_request_duration_seconds',
      help: 'Time from the request head to the end of the response body.',
      labels: ['method', 'path'],
    });
    this.responses = metrics.counter({
      name: 'smg_http_responses_total',
      help: 'HTTP responses by route, status and the code of an error the gateway made.',
      labels: ['path', 'status_code', 'error_code'],
    });
    this.publishInFlight(metrics);
  }

  get inFlight(): number {
    return this.ages.total;
  }

  started(): void {
    this.ages.started(this.clock.monotonicMs());
  }

  finished(record: RequestRecord): void {
    this.finishedTotal += 1;
    this.ages.finished(this.clock.monotonicMs() - record.durationMs);
    this.count(record);
    const level = accessLevel(record);
    if (!this.sink.accepts(level)) return;
    this.sink.write(renderAccessLine(record, level, this.clock.unixMs()));
  }

  private count(record: RequestRecord): void {
    const route = this.routes.get(record.route) ?? this.addRoute(record.route);
    const method = route.methods.get(record.method) ?? this.addMethod(route, record.method);
    method.requests.inc();
    method.duration.observe(record.durationMs / 1000);
    const { errorCode, status } = record;
    const cell =
      errorCode === undefined ? route.plain.get(status) : route.coded.get(errorCode)?.get(status);
    (cell ?? this.addResponse(route, status, errorCode)).inc();
  }

  private addRoute(route: string): RouteCells {
    const path = this.paths.admit(route);
    const known = this.routes.get(path);
    if (known !== undefined) return known;
    const cells: RouteCells = { path, methods: new Map(), plain: new Map(), coded: new Map() };
    this.routes.set(path, cells);
    return cells;
  }

  private addMethod(route: RouteCells, given: string): MethodCells {
    const method = METHODS.has(given) ? given : OTHER_LABEL;
    const known = route.methods.get(method);
    if (known !== undefined) return known;
    const cells: MethodCells = {
      requests: this.requests.cell(method, route.path),
      duration: this.durations.cell(method, route.path),
    };
    route.methods.set(method, cells);
    return cells;
  }

  private addResponse(
    route: RouteCells,
    status: number,
    errorCode: string | undefined,
  ): CounterCell {
    const cell = this.responses.cell(route.path, String(status), errorCode ?? '');
    if (errorCode === undefined) {
      route.plain.set(status, cell);
      return cell;
    }
    let byStatus = route.coded.get(errorCode);
    if (byStatus === undefined) {
      byStatus = new Map();
      route.coded.set(errorCode, byStatus);
    }
    byStatus.set(status, cell);
    return cell;
  }

  private publishInFlight(metrics: Metrics): void {
    const active = metrics.gauge({
      name: 'smg_http_connections_active',
      help: 'HTTP requests in flight, streams included.',
    });
    const ages = metrics.gauge({
      name: 'smg_http_inflight_request_age_count',
      help: 'HTTP requests in flight whose age in seconds is above gt and at most le.',
      labels: ['gt', 'le'],
    });
    metrics.onCollect(() => {
      active.cell().set(this.ages.total);
      const counts = this.ages.histogram(this.clock.monotonicMs());
      for (let index = 0; index < counts.length; index++) {
        const bound = AGE_BOUNDS_SECS[index];
        const above = AGE_BOUNDS_SECS[index - 1] ?? 0;
        ages
          .cell(String(above), bound === undefined ? '+Inf' : String(bound))
          .set(counts[index] ?? 0);
      }
    });
  }
}
