import { RL, RlError, type FetchLike, type FetchRequest } from '../src';
import { until } from '../../../test/support/until';
import { FakeGateway, outcomeOf, reportOf } from './support/fake-gateway';
import { rejection } from './support/rejection';

let fake: FakeGateway;
beforeEach(async () => {
  fake = new FakeGateway();
  await fake.start();
});
afterEach(() => fake.stop());

/** The two ways requests are sent. */
const WAYS: [string, { readonly fetch?: FetchLike }][] = [
  ["the client's own connections", {}],
  ['fetch', { fetch }],
];

describe.each(WAYS)('with %s', (_, way) => {
  const client = (timeoutMs = 10_000): RL => new RL({ baseUrl: fake.url, timeoutMs, ...way });

  it.each(['before-head', 'after-head'] as const)('a deadline: nothing %s', async (hang) => {
    fake.replies = [{ hang }];
    const error = await rejection(client(60).workers());
    expect(error).toBeInstanceOf(DOMException);
    expect(error).toMatchObject({ name: 'TimeoutError', message: 'no answer within 60 ms' });
    await until('the client hung up', () => fake.hangUps === 1);
  });

  it("a call's own deadline wins", async () => {
    fake.replies = [{ hang: 'before-head' }];
    const error = await rejection(client().call('w1', 'x', {}, { timeoutMs: 60 }));
    expect(error).toMatchObject({ name: 'TimeoutError' });
  });

  it.each(['before-head', 'after-head'] as const)('a signal: nothing %s', async (hang) => {
    fake.replies = [{ hang }];
    const controller = new AbortController();
    const { signal } = controller;
    const call = client().fanout('x', {}, { selector: 'a=b', signal });
    await until('it arrived', () => fake.seen.length === 1);
    const reason = new Error('the trainer stopped');
    controller.abort(reason);
    expect(await rejection(call)).toBe(reason);
    await until('the client hung up', () => fake.hangUps === 1);
  });

  it('a signal that was there before: nothing is sent', async () => {
    const signal = AbortSignal.abort();
    const rl = client();
    for (const call of [
      rl.workers({ signal }),
      rl.worker('w1', { signal }),
      rl.setVersion('w1', 1, { signal }),
      rl.setState('w1', 'active', { signal }),
      rl.setFleetVersion(1, { selector: 'a=b', signal }),
      rl.setFleetState('active', { selector: 'a=b', signal }),
      rl.call('w1', 'x', {}, { signal }),
      rl.fanout('x', {}, { selector: 'a=b', signal }),
    ]) {
      expect(await rejection(call)).toMatchObject({ name: 'AbortError' });
    }
    expect(fake.seen).toEqual([]);
  });

  it('nobody listens', async () => {
    const rl = client();
    await fake.stop();
    const error = await rejection(rl.workers());
    expect(error).not.toBeInstanceOf(RlError);
    expect(error.code ?? error.cause.code).toBe('ECONNREFUSED');
    await fake.start();
  });

  it.each([
    ['a body that breaks off', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}'],
    ['a chunk that breaks off', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\n{}'],
    ['no HTTP', 'hello\r\n\r\n'],
    ['nothing', ''],
  ])('%s is no answer', async (__, raw) => {
    fake.replies = [{ raw }];
    const error = await rejection(client().workers());
    expect(error).toHaveProperty('stack');
    expect(error).not.toBeInstanceOf(RlError);
    expect(error.name).not.toBe('TimeoutError');
  });

  it('many at a time', async () => {
    fake.answer(outcomeOf());
    const rl = client();
    const calls = Array.from({ length: 40 }, () => rl.call('w1', 'x', {}));
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
  });
});

describe('with a fetch of your own', () => {
  it('it gets what it needs, and no receiver', async () => {
    const seen: [string, FetchRequest, unknown][] = [];
    const rl = new RL({
      baseUrl: 'https://gateway.example/smg/',
      apiKey: 'k',
      fetch: function (this: unknown, url, request) {
        seen.push([url, request, this]);
        return Promise.resolve({
          status: 200,
          text: () => Promise.resolve(JSON.stringify(reportOf(['w1']))),
        });
      },
    });
    await rl.fanout('health', undefined, { selector: 'a=b', method: 'GET' });
    expect(seen).toEqual([
      [
        'https://gateway.example/smg/v1/rl/engine/health?selector=a%3Db',
        {
          method: 'GET',
          headers: {
            accept: 'application/json',
            'user-agent': 'smg-rl-typescript',
            authorization: 'Bearer k',
          },
          redirect: 'manual',
          signal: expect.any(AbortSignal),
        },
        undefined,
      ],
    ]);
  });

  it('a deadline holds even if it ignores its signal', async () => {
    const rl = new RL({
      baseUrl: fake.url,
      timeoutMs: 30,
      fetch: () => new Promise(() => undefined),
    });
    expect(await rejection(rl.workers())).toMatchObject({ name: 'TimeoutError' });
  });

  it('what it throws comes out', async () => {
    const mine = new Error('mine');
    const rl = new RL({ baseUrl: fake.url, fetch: () => Promise.reject(mine) });
    expect(await rejection(rl.workers())).toBe(mine);
  });

  it('a redirect that tells nothing, as in browsers', async () => {
    const rl = new RL({
      baseUrl: fake.url,
      fetch: () => Promise.resolve({ status: 0, text: () => Promise.resolve('') }),
    });
    expect(await rejection(rl.workers())).toMatchObject({
      code: 'unexpected_response',
      message: expect.stringContaining('redirects are not followed'),
    });
  });
});

describe('after a call', () => {
  it('no listener stays on the signal', async () => {
    fake.answer({ workers: [] });
    const { signal } = new AbortController();
    let listeners = 0;
    const counted = new Proxy(signal, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (name === 'addEventListener') listeners += 1;
          if (name === 'removeEventListener') listeners -= 1;
          return Reflect.apply(value, target, args);
        };
      },
    });
    await new RL({ baseUrl: fake.url }).workers({ signal: counted });
    expect(listeners).toBe(0);
  });

  it('a host with several addresses fails with a text', async () => {
    await fake.stop();
    const error = await rejection(new RL({ baseUrl: 'http://localhost:1' }).workers());
    expect(error.message).toContain('ECONNREFUSED');
    await fake.start();
  });
});
