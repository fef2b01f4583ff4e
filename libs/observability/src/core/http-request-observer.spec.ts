import { type RequestRecord } from '@smg/plugin-api';
import { type AccessLevel } from './access-line';
import { HttpRequestObserver } from './http-request-observer';
import { MetricStore } from './metric-store';

class Lines {
  readonly written: string[] = [];
  least: AccessLevel = 'debug';
  accepts(level: AccessLevel): boolean {
    const order: AccessLevel[] = ['debug', 'info', 'warn', 'error'];
    return order.indexOf(level) >= order.indexOf(this.least);
  }
  write(line: string): void {
    this.written.push(line);
  }
}

function setUp() {
  const store = new MetricStore({ durationBuckets: [1, 60] });
  const lines = new Lines();
  const clock = { now: 5_000_000 };
  const observer = new HttpRequestObserver(store, lines, {
    unixMs: () => 42,
    monotonicMs: () => clock.now,
  });
  const record = (changes: Partial<RequestRecord> = {}): RequestRecord => ({
    method: 'GET',
    route: '/r',
    url: '/r?q',
    status: 200,
    durationMs: 500,
    requestId: 'id',
    ...changes,
  });
  const serve = (changes: Partial<RequestRecord> = {}): void => {
    observer.started();
    const done = record(changes);
    clock.now += done.durationMs;
    observer.finished(done);
  };
  const text = (): string => [...store.render()].join('');
  return { observer, lines, clock, record, serve, text, store };
}

describe('HttpRequestObserver', () => {
  it('counts requests, durations and responses by route', () => {
    const { serve, text } = setUp();
    serve();
    serve({ durationMs: 2000 });
    serve({ status: 503, errorCode: 'no_workers' });
    serve({ method: 'POST', status: 503 });
    const page = text();
    for (const line of [
      'smg_http_requests_total{method="GET",path="/r"} 3',
      'smg_http_requests_total{method="POST",path="/r"} 1',
      'smg_http_request_duration_seconds_bucket{method="GET",path="/r",le="1"} 2',
      'smg_http_request_duration_seconds_sum{method="GET",path="/r"} 3',
      'smg_http_responses_total{path="/r",status_code="200",error_code=""} 2',
      'smg_http_responses_total{path="/r",status_code="503",error_code="no_workers"} 1',
      'smg_http_responses_total{path="/r",status_code="503",error_code=""} 1',
    ]) {
      expect(page).toContain(`${line}\n`);
    }
  });

  it('gives a client no say over label values', () => {
    const { serve, store, text } = setUp();
    serve();
    text();
    const before = store.seriesCount;
    for (const method of ['PROPFIND', 'BREW', 'x"y']) serve({ method, url: '/whatever' });
    expect(store.seriesCount).toBe(before + 2);
    expect(text()).toContain('smg_http_requests_total{method="other",path="/r"} 3\n');
  });

  it('bounds the number of routes', () => {
    const { serve, text } = setUp();
    for (let index = 0; index < 1100; index++) serve({ route: `/r${String(index)}` });
    expect(text()).toContain('smg_http_requests_total{method="GET",path="other"} 76\n');
  });

  it('writes one line per request, and none below the level', () => {
    const { serve, lines } = setUp();
    lines.least = 'warn';
    serve();
    serve({ status: 404 });
    serve({ route: '/health', status: 503 });
    expect(lines.written.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([
      'warn',
    ]);
    expect(lines.written[0]).toContain('"time":42');
  });

  it('shows what is in flight and how old it is', () => {
    const { observer, clock, record, text } = setUp();
    observer.started();
    clock.now += 45_000;
    observer.started();
    observer.started();
    expect(observer.inFlight).toBe(3);
    let page = text();
    expect(page).toContain('smg_http_connections_active 3\n');
    expect(page).toContain('smg_http_inflight_request_age_count{gt="0",le="30"} 2\n');
    expect(page).toContain('smg_http_inflight_request_age_count{gt="30",le="60"} 1\n');
    expect(page).toContain('smg_http_inflight_request_age_count{gt="86400",le="+Inf"} 0\n');
    observer.finished(record({ durationMs: 45_000 }));
    observer.finished(record({ durationMs: 0 }));
    observer.finished(record({ durationMs: 0 }));
    page = text();
    expect(page).toContain('smg_http_connections_active 0\n');
    expect(page).toContain('{gt="0",le="30"} 0\n');
    expect(page).toContain('{gt="30",le="60"} 0\n');
  });
});
