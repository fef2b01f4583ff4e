import { inspect } from 'node:util';
import { FakeClock } from '@smg/testing';
import { definitionOf, testClock } from '../../test/support';
import { Worker } from './worker';

const URL = 'http://h:1';

function worker(spec: Parameters<typeof definitionOf>[0] = { url: URL }) {
  const time = new FakeClock();
  const subject = new Worker('id', 0, definitionOf(spec), testClock(time));
  subject.setStatus('ready');
  return { subject, time };
}

describe('Worker', () => {
  it('never takes a long time for a short one: no timer holds more than 24 days', () => {
    const most = 4_294_967_295;
    const { settings } = worker({
      url: URL,
      http_pool: { timeout_secs: most },
      health: { timeout_secs: most, check_interval_secs: most, drain_settle_secs: most },
      resilience: { initial_backoff_ms: most, max_backoff_ms: most },
    }).subject;
    const { health, retry } = settings;
    const longest = 2 ** 31 - 1;
    expect(settings.requestTimeoutMs).toBe(longest);
    expect([health.timeoutMs, health.intervalMs, health.drainSettleMs]).toEqual(
      Array(3).fill(longest),
    );
    expect([retry.initialBackoffMs, retry.maxBackoffMs]).toEqual([longest, longest]);
  });

  it('never counts below zero', () => {
    const { subject } = worker();
    subject.beginRequest();
    subject.endRequest();
    subject.endRequest();
    expect(subject.load).toBe(0);
  });

  it.each([
    [200, 'closed'],
    [404, 'closed'],
    [429, 'closed'],
    [501, 'closed'],
    [408, 'open'],
    [500, 'open'],
    [502, 'open'],
    [503, 'open'],
    [504, 'open'],
  ])('judges ten answers of %i: breaker %s', (status, state) => {
    const { subject } = worker();
    for (let i = 0; i < 10; i++) subject.recordOutcome(status);
    expect(subject.breaker.state).toBe(state);
    expect(subject.isAvailable).toBe(state === 'closed');
    expect(subject.isReady).toBe(true);
  });

  it('lets 429 neither count nor break a row of failures', () => {
    const { subject } = worker();
    for (let i = 0; i < 9; i++) subject.recordOutcome(500);
    subject.recordOutcome(429);
    expect(subject.breaker.consecutiveFailures).toBe(9);
    subject.recordOutcome(404);
    expect(subject.breaker.consecutiveFailures).toBe(0);
  });

  it('becomes available again when its breaker is looked at after the timeout', () => {
    const { subject, time } = worker();
    for (let i = 0; i < 10; i++) subject.recordTransportFailure(502);
    time.advance(59_999);
    expect(subject.isAvailable).toBe(false);
    time.advance(1);
    expect(subject.isAvailable).toBe(true);
  });

  it('lets its own resilience win over the global one', () => {
    const { subject } = worker({
      url: URL,
      resilience: {
        max_retries: 2,
        cb_failure_threshold: 1,
        retryable_status_codes: [418],
        capacity_status_codes: [503],
      },
      http_pool: { timeout_secs: 7 },
    });
    expect(subject.retry.maxAttempts).toBe(2);
    expect(subject.requestTimeoutMs).toBe(7000);
    subject.recordOutcome(500);
    subject.recordOutcome(503);
    expect(subject.isAvailable).toBe(true);
    subject.recordOutcome(418);
    expect(subject.isAvailable).toBe(false);
  });

  it('reads disable_retry as a single attempt', () => {
    expect(
      worker({ url: URL, resilience: { disable_retry: true } }).subject.retry.maxAttempts,
    ).toBe(1);
  });

  it('keeps load, status and an equal breaker over a replacement', () => {
    const { subject } = worker();
    subject.beginRequest();
    for (let i = 0; i < 10; i++) subject.recordOutcome(500);
    subject.redefine(definitionOf({ url: URL, priority: 9 }));
    expect(subject).toMatchObject({ load: 1, status: 'ready', priority: 9, revision: 1 });
    expect(subject.breaker.state).toBe('open');
    subject.redefine(definitionOf({ url: URL, resilience: { cb_failure_threshold: 2 } }));
    expect(subject.breaker.state).toBe('closed');
  });

  it('counts requests in flight by key, beside the load', () => {
    const { subject } = worker();
    expect([subject.keysInFlight, subject.requestsOf('a')]).toEqual([0, 0]);
    subject.endRequest('a');
    for (const key of ['a', 'a', 'b', undefined]) subject.beginRequest(key);
    expect([subject.load, subject.keysInFlight, subject.requestsOf('a')]).toEqual([4, 2, 2]);
    subject.endRequest('a');
    subject.endRequest('b');
    expect([subject.keysInFlight, subject.requestsOf('a'), subject.requestsOf('b')]).toEqual([
      1, 1, 0,
    ]);
    subject.endRequest('a');
    subject.endRequest();
    expect([subject.load, subject.keysInFlight]).toEqual([0, 0]);
  });

  it('is not available while overloaded', () => {
    const { subject } = worker();
    subject.setOverloaded(true);
    expect(subject).toMatchObject({ isReady: false, isAvailable: false, status: 'ready' });
    subject.setOverloaded(false);
    expect(subject.isAvailable).toBe(true);
  });

  it('shows its key to nobody who prints it', () => {
    const { subject } = worker({ url: URL, api_key: 'canary-key' });
    expect(subject.apiKey).toBe('canary-key');
    expect(JSON.stringify(subject)).not.toContain('canary-key');
    expect(inspect(subject, { depth: 10, showHidden: true })).not.toContain('canary-key');
  });

  it('starts ready when nobody is to check its health', () => {
    const definition = definitionOf({ url: URL, health: { disable_health_check: true } });
    expect(new Worker('id', 0, definition, testClock(new FakeClock())).status).toBe('ready');
  });
});
