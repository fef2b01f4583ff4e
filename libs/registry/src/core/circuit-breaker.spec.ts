import { CircuitBreaker } from './circuit-breaker';

function breaker(overrides: Partial<CircuitBreaker['config']> = {}) {
  const moves: string[] = [];
  const config = { isEnabled: true, failureThreshold: 3, successThreshold: 2, timeoutMs: 1000 };
  const it = new CircuitBreaker({ ...config, ...overrides }, (from, to) =>
    moves.push(`${from}>${to}`),
  );
  return { it, moves };
}

function fail(it: CircuitBreaker, times: number, now = 0): void {
  for (let i = 0; i < times; i++) it.recordFailure(now);
}

describe('CircuitBreaker', () => {
  it('opens at the threshold of consecutive failures', () => {
    const { it: subject, moves } = breaker();
    fail(subject, 2);
    expect(subject.look(0)).toBe(true);
    fail(subject, 1);
    expect(subject.look(999)).toBe(false);
    expect(moves).toEqual(['closed>open']);
  });

  it('forgets failures with a success', () => {
    const { it: subject } = breaker();
    fail(subject, 2);
    subject.recordSuccess();
    fail(subject, 2);
    expect(subject.state).toBe('closed');
  });

  it('becomes half-open on the first look after the timeout, without a limit', () => {
    const { it: subject } = breaker();
    fail(subject, 3);
    expect(subject.look(1000)).toBe(true);
    expect(subject.look(1000)).toBe(true);
    expect(subject.state).toBe('half_open');
  });

  it('closes after successes in a row, reopens on one failure', () => {
    const { it: subject, moves } = breaker();
    fail(subject, 3);
    subject.look(1000);
    subject.recordSuccess();
    subject.recordFailure(1000);
    expect(subject.look(1999)).toBe(false);
    subject.look(2000);
    subject.recordSuccess();
    expect(subject.state).toBe('half_open');
    subject.recordSuccess();
    expect(moves).toEqual([
      'closed>open',
      'open>half_open',
      'half_open>open',
      'open>half_open',
      'half_open>closed',
    ]);
  });

  it('never opens when disabled', () => {
    const { it: subject } = breaker({ isEnabled: false });
    fail(subject, 1000);
    expect(subject.look(0)).toBe(true);
  });

  it('lets a recovered engine be tried at once', () => {
    const { it: subject } = breaker();
    fail(subject, 3);
    subject.engineRecovered();
    expect(subject.look(1)).toBe(true);
    expect(subject.state).toBe('half_open');
  });

  it('does not push its timeout out with failures that were already in flight', () => {
    const { it: subject } = breaker();
    fail(subject, 3, 0);
    fail(subject, 5, 900);
    expect(subject.look(1000)).toBe(true);
  });
});
