import { inspect } from 'node:util';
import { RL, type RLOptions } from '../src';
import { FakeGateway, outcomeOf, reportOf, rowOf } from './support/fake-gateway';
import { rejection } from './support/rejection';

const KEY = 'operators-key-1';
const fake = new FakeGateway();
let rl: RL;
beforeAll(() => fake.start());
afterAll(() => fake.stop());
beforeEach(() => {
  fake.seen.length = 0;
  rl = new RL({ baseUrl: `${fake.url}/`, apiKey: KEY });
});

/** Method, target and body of the last request. */
const sent = (): unknown[] => {
  const { method, target, text } = fake.last;
  return [method, target, text];
};

describe('what is sent', () => {
  it('workers', async () => {
    fake.answer({ protocol_version: 1, workers: [rowOf('w1'), rowOf('w2')], total: 2 });
    expect((await rl.workers()).map(({ id }) => id)).toEqual(['w1', 'w2']);
    expect(sent()).toEqual(['GET', '/v1/rl/workers', '']);
    expect(fake.last.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      accept: 'application/json',
    });
    expect(fake.last.headers).not.toHaveProperty('content-type');
  });

  it('worker', async () => {
    fake.answer(rowOf());
    expect((await rl.worker('w1')).id).toBe('w1');
    expect(sent()).toEqual(['GET', '/v1/rl/workers/w1', '']);
  });

  it('setVersion, whole numbers as text', async () => {
    fake.answer(rowOf());
    expect((await rl.setVersion('w1', 'step-1')).weightVersion).toBe('9');
    expect(sent()).toEqual(['POST', '/v1/rl/workers/w1/version', '{"weight_version":"step-1"}']);
    expect(fake.last.headers['content-type']).toBe('application/json');
    await rl.setVersion('w1', 42);
    expect(fake.last.json).toEqual({ weight_version: '42' });
    await rl.setVersion('w1', 18_446_744_073_709_551_615n);
    expect(fake.last.json).toEqual({ weight_version: '18446744073709551615' });
  });

  it('setFleetVersion', async () => {
    fake.answer({ protocol_version: 1, workers: [rowOf()], total: 1 });
    const workers = await rl.setFleetVersion(7, { selector: 'engine=sglang, role!="a b"' });
    expect(workers).toHaveLength(1);
    expect(fake.last).toMatchObject({ method: 'POST', path: '/v1/rl/version' });
    expect([...fake.last.query]).toEqual([['selector', 'engine=sglang, role!="a b"']]);
    expect(fake.last.json).toEqual({ weight_version: '7' });
  });

  it('setState and setFleetState; which states there are is for the gateway to say', async () => {
    fake.answer(rowOf());
    await rl.setState('w1', 'asleep');
    expect(sent()).toEqual(['POST', '/v1/rl/workers/w1/state', '{"control":"asleep"}']);
    await rl.setState('w1', 'napping' as 'asleep');
    expect(fake.last.json).toEqual({ control: 'napping' });
    fake.answer({ workers: [rowOf()] });
    await rl.setFleetState('active', { selector: 'engine=sglang' });
    expect(sent()).toEqual([
      'POST',
      '/v1/rl/state?selector=engine%3Dsglang',
      '{"control":"active"}',
    ]);
  });

  it('call: a POST unless told otherwise, one leading slash dropped', async () => {
    fake.answer(outcomeOf());
    await rl.call('w1', '/pause_generation', {});
    expect(sent()).toEqual(['POST', '/v1/rl/workers/w1/engine/pause_generation', '{}']);
    await rl.call('w1', 'server_info', undefined, { method: 'GET' });
    expect(sent()).toEqual(['GET', '/v1/rl/workers/w1/engine/server_info', '']);
    await rl.call('w1', 'resume', null);
    expect(sent()).toEqual(['POST', '/v1/rl/workers/w1/engine/resume', '']);
    expect(fake.last.headers).not.toHaveProperty('content-type');
  });

  it('parameters: lists repeat, null and undefined are left out', async () => {
    fake.answer(outcomeOf());
    const params = {
      tags: ['weights', 'kv_cache'],
      level: 2,
      big: 2n ** 64n,
      deep: true,
      none: null,
      nor: undefined,
      odd: 'b&c=d é+#',
    };
    await rl.call('w1', 'wake_up', undefined, { params });
    expect([...fake.last.query]).toEqual([
      ['tags', 'weights'],
      ['tags', 'kv_cache'],
      ['level', '2'],
      ['big', '18446744073709551616'],
      ['deep', 'true'],
      ['odd', 'b&c=d é+#'],
    ]);
    await rl.call('w1', 'wake_up', undefined, { params: { none: [] } });
    expect(fake.last.target).not.toContain('?');
  });

  it('fanout: the selector wins over one in the parameters', async () => {
    fake.answer(reportOf(['w1']));
    const params = { selector: 'url=x', level: 1 };
    await rl.fanout('sleep', { a: 1 }, { selector: 'engine=vllm', params });
    expect(fake.last).toMatchObject({
      method: 'POST',
      path: '/v1/rl/engine/sleep',
      text: '{"a":1}',
    });
    expect([...fake.last.query]).toEqual([
      ['selector', 'engine=vllm'],
      ['level', '1'],
    ]);
  });

  it.each([
    ['a/b', 'a%2Fb'],
    ['../workers', '..%2Fworkers'],
    ['a b?c#d%', 'a%20b%3Fc%23d%25'],
    ['é', '%C3%A9'],
    ['%2e%2e', '%252e%252e'],
  ])('an id is one segment: %s', async (id, segment) => {
    fake.answer(rowOf());
    await rl.worker(id);
    expect(fake.last.target).toBe(`/v1/rl/workers/${segment}`);
    fake.answer(outcomeOf());
    await rl.call(id, 'x');
    expect(fake.last.target).toBe(`/v1/rl/workers/${segment}/engine/x`);
  });

  it('what does not belong into a path is escaped, for the gateway to refuse', async () => {
    fake.answer(outcomeOf());
    await rl.call('w1', 'v1/a?b#c/%2e%2e/é d');
    expect(fake.last.target).toBe('/v1/rl/workers/w1/engine/v1/a%3Fb%23c/%252e%252e/%C3%A9%20d');
  });

  it('the path of a base URL stays in front', async () => {
    fake.answer({ workers: [] });
    const behindProxy = new RL({ baseUrl: `${fake.url}/smg//` });
    expect(behindProxy.baseUrl).toBe(`${fake.url}/smg`);
    await behindProxy.workers();
    expect(fake.last.target).toBe('/smg/v1/rl/workers');
    expect(fake.last.headers).not.toHaveProperty('authorization');
  });

  it('one connection per call', async () => {
    fake.answer({ workers: [] });
    const before = fake.connections;
    await rl.workers();
    await rl.workers();
    expect(fake.connections - before).toBe(2);
  });
});

describe('what is not sent', () => {
  const bad = (options: Partial<Record<keyof RLOptions, unknown>>) => (): unknown =>
    new RL({ baseUrl: fake.url, ...options } as RLOptions);

  it.each([
    ['no URL', { baseUrl: 'gateway:30000' }, TypeError],
    ['no HTTP', { baseUrl: 'ftp://gateway' }, TypeError],
    ['a URL that only looks like one', { baseUrl: 'http:gateway' }, TypeError],
    ['a query', { baseUrl: 'http://gateway/?a' }, TypeError],
    ['not a string', { baseUrl: 7 }, TypeError],
    ['no time', { timeoutMs: 0 }, RangeError],
    ['negative time', { timeoutMs: -1 }, RangeError],
    ['NaN', { timeoutMs: Number.NaN }, RangeError],
    ['more than a timer can wait', { timeoutMs: 2 ** 31 }, RangeError],
    ['a timeout that is no number', { timeoutMs: '5' }, TypeError],
    ['a key with a newline', { apiKey: `${KEY}\n` }, TypeError],
    ['a key that is not ASCII', { apiKey: 'é' }, TypeError],
  ])('settings: %s', async (_, options, type) => {
    const error = await rejection(bad(options));
    expect(error).toBeInstanceOf(type);
    expect(error.message).not.toContain(KEY);
  });

  it('credentials in the URL are refused without being shown', async () => {
    const error = await rejection(bad({ baseUrl: 'http://user:secret@gateway' }));
    expect(error.message).toContain('credentials');
    expect(error.message).not.toContain('secret');
  });

  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- a cast where the types forbid what is tested
  const as = <T>(value: unknown): T => value as T;
  it.each<[string, () => Promise<unknown>]>([
    ['an empty id', () => rl.worker('')],
    ['.. as an id', () => rl.setState('..', 'active')],
    ['. as an id', () => rl.call('.', 'x')],
    ['a number as an id', () => rl.worker(as<string>(7))],
    ['.. in a path', () => rl.call('w1', '../../version')],
    ['.. in a path of a fan-out', () => rl.fanout('a/../b', {}, { selector: 'a=b' })],
    ['no path', () => rl.call('w1', as<string>(undefined))],
    ['no selector', () => rl.fanout('x', {}, as<{ selector: string }>({}))],
    ['a selector that is no string', () => rl.setFleetVersion(1, { selector: as<string>(1) })],
    ['a boolean as a version', () => rl.setVersion('w1', as<string>(true))],
    ['a fraction as a version', () => rl.setVersion('w1', 1.5)],
    ['an integer that is not exact', () => rl.setFleetVersion(2 ** 53, { selector: 'a=b' })],
    ['a body that is a circle', () => rl.call('w1', 'x', circle)],
    ['a body that JSON cannot say', () => rl.call('w1', 'x', () => 1)],
    ['a GET with a body', () => rl.call('w1', 'x', {}, { method: 'GET' })],
    ['a timeout that is no number', () => rl.workers({ timeoutMs: as<number>('1') })],
  ])('arguments: %s', async (_, call) => {
    expect(await rejection(call())).toBeInstanceOf(TypeError);
    expect(fake.seen).toEqual([]);
  });

  it.each([0, -1, Number.POSITIVE_INFINITY])('arguments: a timeout of %d', async (timeoutMs) => {
    for (const call of [
      rl.workers({ timeoutMs }),
      rl.call('w1', 'x', {}, { timeoutMs }),
      rl.fanout('x', {}, { selector: 'a=b', timeoutMs }),
    ]) {
      expect(await rejection(call)).toBeInstanceOf(RangeError);
    }
    expect(fake.seen).toEqual([]);
  });
});

describe('the key', () => {
  it('is in no text of the client', () => {
    for (const text of [inspect(rl, { depth: 9, showHidden: true }), JSON.stringify(rl)]) {
      expect(text).not.toContain(KEY);
    }
  });

  it('is not kept in an error when the answer echoes it', async () => {
    fake.replies = [{ status: 401, body: { error: 'no', message: `got Bearer ${KEY}` } }];
    const error = await rejection(rl.workers());
    expect(error.message).toBe('no (HTTP 401): got Bearer ***');
    expect(inspect(error, { depth: 9 })).not.toContain(KEY);
    fake.replies = [{ status: 401, body: { error: 'no', message: `unknown key ${KEY}` } }];
    expect((await rejection(rl.workers())).message).toBe('no (HTTP 401): unknown key ***');
  });

  it('that is an ordinary word changes no success', async () => {
    fake.replies = [{ body: { workers: [{ id: 'w1', engine: 'sglang' }] } }];
    const [worker] = await new RL({ baseUrl: fake.url, apiKey: 'sglang' }).workers();
    expect(worker?.engine).toBe('sglang');
  });

  it('goes nowhere else: redirects are not followed', async () => {
    const elsewhere = new FakeGateway();
    await elsewhere.start();
    for (const status of [301, 302, 307, 308]) {
      fake.replies = [{ status, headers: { location: `${elsewhere.url}/v1/rl/workers` } }];
      for (const client of [rl, new RL({ baseUrl: fake.url, apiKey: KEY, fetch })]) {
        expect(await rejection(client.workers())).toMatchObject({
          status,
          code: 'unexpected_response',
          message: expect.stringContaining('redirects are not followed'),
        });
      }
    }
    expect(elsewhere.seen).toEqual([]);
    await elsewhere.stop();
  });
});
