import { inspect } from 'node:util';
import { FanoutError, RL, RlError, paused } from '../src';
import { until } from '../../../test/support/until';
import { FakeGateway, failureOf, reportOf, type Reply } from './support/fake-gateway';
import { rejection } from './support/rejection';

const SELECTOR = 'engine=sglang, role!=reward';
const OK: Reply = { body: reportOf(['w1', 'w2']) };
const PARTIAL: Reply = { status: 207, body: reportOf(['w1'], [failureOf('w2')]) };
const REFUSED: Reply = { status: 401, body: 'no' };
const DEAD: Reply = { raw: '' };
const PAUSE = ['pause_generation', {}];
const RESUME = ['continue_generation', {}];

const fake = new FakeGateway();
let rl: RL;
let runs: number;
beforeAll(async () => {
  await fake.start();
  rl = new RL({ baseUrl: fake.url, timeoutMs: 10_000 });
});
afterAll(() => fake.stop());
beforeEach(() => {
  fake.seen.length = 0;
  runs = 0;
});

/** What arrived: routes and bodies. */
const sent = (): unknown[] =>
  fake.seen.map(({ method, path, query, json }) => {
    expect([method, ...query]).toEqual(['POST', ['selector', SELECTOR]]);
    return [path.replace('/v1/rl/engine/', ''), json];
  });

const run = (): string => {
  runs += 1;
  return 'done';
};

describe('paused', () => {
  it('pauses, runs, resumes, and returns what was returned', async () => {
    fake.replies = [OK];
    const done = await paused(rl, SELECTOR, async (pause) => {
      expect(pause.succeeded).toBe(2);
      expect(sent()).toEqual([PAUSE]);
      await Promise.resolve();
      return run();
    });
    expect(done).toBe('done');
    expect(sent()).toEqual([PAUSE, RESUME]);
  });

  it('sends a mode with the pause only', async () => {
    fake.replies = [OK];
    expect(await paused(rl, SELECTOR, run, { mode: 'in_place' })).toBe('done');
    expect(sent()).toEqual([['pause_generation', { mode: 'in_place' }], RESUME]);
  });

  it('has a timeout for both, each', async () => {
    const timeouts: unknown[] = [];
    const spy: Pick<RL, 'fanout'> = {
      fanout: (path, body, options) => {
        timeouts.push(options.timeoutMs);
        return rl.fanout(path, body, options);
      },
    };
    fake.replies = [OK];
    await paused(spy, SELECTOR, run, { timeoutMs: 7000 });
    expect(timeouts).toEqual([7000, 7000]);
  });

  it('sends nothing when the arguments cannot be, or the signal is aborted already', async () => {
    const aborted = AbortSignal.abort();
    expect(await rejection(paused(rl, SELECTOR, run, { timeoutMs: 0 }))).toBeInstanceOf(RangeError);
    expect(await rejection(paused(rl, 7 as unknown as string, run))).toBeInstanceOf(TypeError);
    expect(await rejection(paused(rl, SELECTOR, run, { signal: aborted }))).toBe(aborted.reason);
    expect([runs, fake.seen]).toEqual([0, []]);
  });
});

describe('when the pause fails', () => {
  it.each<[string, Reply, object]>([
    ['on one engine', PARTIAL, { code: 'fanout_partial' }],
    ['as a whole', REFUSED, { status: 401 }],
    ['without an answer', DEAD, { code: 'ECONNRESET' }],
  ])('%s: nothing runs, the resume is sent, its error comes out', async (_, reply, expected) => {
    fake.replies = [reply, OK];
    const error = await rejection(paused(rl, SELECTOR, run));
    expect(error).toMatchObject(expected);
    expect(error.cause).toBeUndefined();
    expect([runs, sent()]).toEqual([0, [PAUSE, RESUME]]);
  });

  it('and the resume too: the error of the pause wins, that of the resume is its cause', async () => {
    fake.replies = [PARTIAL, { status: 502, body: { error: 'later' } }];
    const error = await rejection(paused(rl, SELECTOR, run));
    expect(error).toBeInstanceOf(FanoutError);
    expect(error.cause).toMatchObject({ code: 'later' });
    expect(runs).toBe(0);
  });

  it('because it took too long, the resume has a time of its own', async () => {
    fake.replies = [{ hang: 'before-head' }, OK];
    const error = await rejection(paused(rl, SELECTOR, run, { timeoutMs: 200 }));
    expect(error).toMatchObject({ name: 'TimeoutError' });
    expect([runs, sent()]).toEqual([0, [PAUSE, RESUME]]);
  });

  it('because the signal aborted, the resume is sent all the same', async () => {
    fake.replies = [{ hang: 'before-head' }, OK];
    const controller = new AbortController();
    const result = paused(rl, SELECTOR, run, { signal: controller.signal });
    await until('the pause arrived', () => fake.seen.length === 1);
    controller.abort(new Error('enough'));
    expect(await rejection(result)).toMatchObject({ message: 'enough' });
    expect([runs, sent()]).toEqual([0, [PAUSE, RESUME]]);
  });
});

describe('when what runs fails', () => {
  it.each<[string, () => unknown]>([
    ['an error', () => new RangeError('mine')],
    ['an error with a cause', () => new Error('mine', { cause: 'theirs' })],
    ['a string', () => 'mine'],
    ['nothing', () => undefined],
  ])('with %s: the resume is sent, and it comes out as it was', async (_, make) => {
    fake.replies = [OK];
    const mine = make();
    const cause = (mine as Error | undefined)?.cause;
    const thrown = await rejection(paused(rl, SELECTOR, () => Promise.reject(mine as Error)));
    expect(thrown).toBe(mine);
    expect((thrown as Error | undefined)?.cause).toBe(cause);
    expect(sent()).toEqual([PAUSE, RESUME]);
  });

  it('at once, not in a promise: the same', async () => {
    fake.replies = [OK];
    const mine = new Error('mine');
    const throws = (): never => {
      throw mine;
    };
    expect(await rejection(paused(rl, SELECTOR, throws))).toBe(mine);
    expect(sent()).toEqual([PAUSE, RESUME]);
  });

  it.each<[string, Reply, object]>([
    ['on one engine', PARTIAL, { code: 'fanout_partial' }],
    ['as a whole', REFUSED, { code: 'http_error' }],
    ['without an answer', DEAD, { code: 'ECONNRESET' }],
  ])('and the resume fails %s: that is the cause', async (_, reply, expected) => {
    fake.replies = [OK, reply];
    const mine = new RangeError('mine');
    const thrown = await rejection(paused(rl, SELECTOR, () => Promise.reject(mine)));
    expect(thrown).toBe(mine);
    expect(mine.cause).toMatchObject(expected);
    expect(inspect(mine)).toContain('[cause]');
    expect(Object.keys(mine)).not.toContain('cause');
  });

  it.each<[string, () => unknown, string]>([
    ['has a cause of its own', () => new Error('mine', { cause: 'theirs' }), 'mine'],
    ['is frozen', () => Object.freeze(new Error('mine')), 'mine'],
    ['is no error', () => 'mine', 'mine'],
    ['is nothing', () => undefined, 'undefined'],
  ])('and the resume too, but it %s: both come out', async (_, make, text) => {
    fake.replies = [OK, PARTIAL];
    const mine = make();
    const thrown = await rejection(paused(rl, SELECTOR, () => Promise.reject(mine as Error)));
    expect(thrown).toBeInstanceOf(AggregateError);
    expect(thrown.errors).toEqual([mine, expect.any(FanoutError)]);
    expect(thrown.errors[0]).toBe(mine);
    expect(thrown.cause).toBe(mine);
    expect(thrown.message).toBe(
      `${text} (and resuming '${SELECTOR}' failed: engines may still be paused)`,
    );
  });

  it('with the error of the resume: no circle', async () => {
    const same = new Error('same');
    let calls = 0;
    const broken: Pick<RL, 'fanout'> = {
      fanout: (...args) => {
        calls += 1;
        return calls === 1 ? rl.fanout(...args) : Promise.reject(same);
      },
    };
    fake.replies = [OK];
    expect(await rejection(paused(broken, SELECTOR, () => Promise.reject(same)))).toBe(same);
    expect(same.cause).toBeUndefined();
  });
});

describe('when only the resume fails', () => {
  it.each<[string, Reply, object]>([
    ['on one engine', PARTIAL, { code: 'fanout_partial' }],
    ['as a whole', REFUSED, { code: 'http_error' }],
    ['without an answer', DEAD, { code: 'ECONNRESET' }],
  ])('%s: its error comes out, and it is not sent again', async (_, reply, expected) => {
    fake.replies = [OK, reply];
    const error = await rejection(paused(rl, SELECTOR, run));
    expect(error).toMatchObject(expected);
    expect(error instanceof RlError ? error.cause : undefined).toBeUndefined();
    expect([runs, sent()]).toEqual([1, [PAUSE, RESUME]]);
  });
});
