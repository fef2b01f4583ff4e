import { constants } from 'node:buffer';
import { fanOut, renderFanout, type CallResult } from './fanout';
import { MAX_OUTCOME_BYTES } from './outcome';

interface Target {
  readonly id: string;
  readonly url: string;
}

const targets = (count: number): Target[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `w${count - at}`,
    url: `http://w${count - at}`,
  }));

const answered = (target: Target, status: number): CallResult => ({
  kind: 'answered',
  outcome: {
    workerId: target.id,
    url: target.url,
    status,
    latencyMs: 1,
    body: Buffer.from('{}'),
    contentType: 'application/json',
    truncated: false,
  },
});

const live = () => new AbortController().signal;

describe('the report', () => {
  it('all 2xx is 200', async () => {
    const report = await fanOut(targets(3), 2, async (one) => answered(one, 204), live());
    expect(report).toMatchObject({ status: 200, total: 3, succeeded: 3, failed: [] });
    expect(report.results.map(({ workerId }) => workerId)).toEqual(['w1', 'w2', 'w3']);
  });

  it('one of each kind is 207, sorted by id', async () => {
    const results: Record<string, CallResult> = {
      w1: answered({ id: 'w1', url: 'http://w1' }, 200),
      w2: answered({ id: 'w2', url: 'http://w2' }, 500),
      w3: { kind: 'failed', error: 'upstream_unreachable', message: 'no' },
      w4: {
        kind: 'failed',
        error: 'unsupported_connection_mode',
        message: 'grpc',
        connectionMode: 'grpc',
      },
      w5: { kind: 'failed', error: 'upstream_timeout', message: 'late' },
    };
    const report = await fanOut(targets(5), 5, async ({ id }) => results[id]!, live());
    expect(report.status).toBe(207);
    expect(JSON.parse([...renderFanout(report)].join(''))).toEqual({
      results: {
        w1: { worker_id: 'w1', url: 'http://w1', status: 200, latency_ms: 1, body: {} },
        w2: { worker_id: 'w2', url: 'http://w2', status: 500, latency_ms: 1, body: {} },
      },
      failed: [
        {
          worker_id: 'w2',
          url: 'http://w2',
          error: 'upstream_error',
          message: 'HTTP 500',
          status: 500,
        },
        { worker_id: 'w3', url: 'http://w3', error: 'upstream_unreachable', message: 'no' },
        {
          worker_id: 'w4',
          url: 'http://w4',
          error: 'unsupported_connection_mode',
          message: 'grpc',
          connection_mode: 'grpc',
        },
        { worker_id: 'w5', url: 'http://w5', error: 'upstream_timeout', message: 'late' },
      ],
      total: 5,
      succeeded: 1,
    });
  });

  it('answers that would not fit into one string are shown piece by piece', async () => {
    const body = Buffer.alloc(MAX_OUTCOME_BYTES, 1);
    const huge = (one: Target): CallResult => {
      const result = answered(one, 200);
      if (result.kind !== 'answered') return result;
      return { kind: 'answered', outcome: { ...result.outcome, body, contentType: undefined } };
    };
    const report = await fanOut(targets(100), 32, async (one: Target) => huge(one), live());
    let pieces = 0;
    let characters = 0;
    for (const piece of renderFanout(report)) {
      pieces++;
      characters += piece.length;
    }
    expect(pieces).toBe(101);
    expect(characters).toBeGreaterThan(constants.MAX_STRING_LENGTH);
  });

  it('nobody is a report too', async () => {
    const report = await fanOut([], 2, async (one: Target) => answered(one, 200), live());
    expect(JSON.parse([...renderFanout(report)].join(''))).toEqual({
      results: {},
      failed: [],
      total: 0,
      succeeded: 0,
    });
  });
});

/** Calls that end when the test says so. */
function held() {
  const open = new Map<string, (result: CallResult | Error) => void>();
  let peak = 0;
  const callOne = (target: Target) =>
    new Promise<CallResult>((resolve, reject) => {
      open.set(target.id, (result) => {
        open.delete(target.id);
        if (result instanceof Error) reject(result);
        else resolve(result);
      });
      peak = Math.max(peak, open.size);
    });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { open, callOne, turn, peak: () => peak };
}

describe('the run', () => {
  it.each([
    [2, 2],
    [1, 1],
    [0, 1],
    [100, 6],
  ])('with concurrency %i at most %i are under way', async (concurrency, most) => {
    const { open, callOne, turn, peak } = held();
    const done = fanOut(targets(6), concurrency, callOne, live());
    for (let at = 0; at < 6; at++) {
      await turn();
      expect(open.size).toBe(Math.min(most, 6 - at));
      const [id] = open.keys();
      open.get(id!)!(answered({ id: id!, url: 'u' }, 200));
    }
    expect(await done).toMatchObject({ total: 6, succeeded: 6 });
    expect(peak()).toBe(most);
  });

  it('when the caller leaves, no call starts and the open ones are waited for', async () => {
    const { open, callOne, turn } = held();
    const caller = new AbortController();
    let settled = false;
    const done = fanOut(targets(6), 2, callOne, caller.signal).finally(() => (settled = true));
    done.catch(() => undefined);
    await turn();
    caller.abort(new Error('left'));
    const [first, second] = [...open.values()];
    first!(answered({ id: 'w6', url: 'u' }, 200));
    await turn();
    expect([settled, open.size]).toEqual([false, 1]);
    second!({ kind: 'failed', error: 'upstream_unreachable', message: 'aborted' });
    await expect(done).rejects.toThrow('left');
    expect(open.size).toBe(0);
  });

  it('a call that rejects is a fault of ours: the rest is not started, the open ones end', async () => {
    const { open, callOne, turn } = held();
    const done = fanOut(targets(6), 2, callOne, live());
    done.catch(() => undefined);
    await turn();
    const [first, second] = [...open.values()];
    first!(new Error('bug'));
    await turn();
    expect(open.size).toBe(1);
    second!(answered({ id: 'w5', url: 'u' }, 200));
    await expect(done).rejects.toThrow('bug');
  });
});
