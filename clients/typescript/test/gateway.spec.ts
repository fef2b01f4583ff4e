import { MockEngine } from '@smg/testing';
import { FanoutError, RL, RlError, paused, type Worker } from '../src';
import { startRl, type RlGateway } from '../../../test/e2e/support/rl';
import { startGateway } from '../../../test/support/gateway';
import { until } from '../../../test/support/until';
import { OddEngine } from './support/odd-engine';
import { rejection } from './support/rejection';

const KEY = 'operators-key-1';
const SGLANG = 'engine=sglang';
const BOTH = 'engine in (sglang, vllm)';

const engines = [
  new MockEngine({ kind: 'sglang' }),
  new MockEngine({ kind: 'sglang' }),
  new MockEngine({ kind: 'vllm' }),
] as const;
const odd = new OddEngine();
let gateway: RlGateway;
let rl: RL;
let first: Worker;

const rowAt = async ({ url }: { readonly url: string }): Promise<Worker> => {
  const found = (await rl.workers()).find(({ baseUrl }) => baseUrl === url);
  if (found === undefined) throw new Error(`no worker at ${url}`);
  return found;
};
const states = async (): Promise<string[]> =>
  (await rl.workers()).filter(({ engine }) => engine === 'sglang').map(({ control }) => control);

beforeAll(async () => {
  await Promise.all([odd, ...engines].map((engine) => engine.start()));
  gateway = await startRl(
    {
      auth: { apiKey: KEY },
      rl: { controlTimeoutSecs: 1 },
      workers: { urls: [...engines, odd].map(({ url }) => url) },
    },
    { ready: 4 },
  );
  rl = new RL({ baseUrl: gateway.url, apiKey: KEY, timeoutMs: 20_000 });
  await until('all are known by kind', async () => {
    const kinds = (await rl.workers()).map(({ engine }) => engine);
    return kinds.filter((kind) => kind === 'sglang').length === 2 && kinds.includes('vllm');
  });
  first = await rowAt(engines[0]);
}, 30_000);
afterAll(async () => {
  await gateway.close();
  await Promise.all([odd, ...engines].map((engine) => engine.stop()));
});
beforeEach(() => rl.setFleetState('active', { selector: 'url!=none' }));

describe('discovery', () => {
  it('lists every engine', async () => {
    const workers = await rl.workers();
    expect(workers).toHaveLength(4);
    for (const worker of workers) {
      expect(worker).toMatchObject({
        connectionMode: 'http',
        workerType: 'regular',
        health: 'ready',
        control: 'active',
        dpRanks: 1,
        modelId: 'mock-model',
      });
    }
  });

  it('shows one', async () => {
    expect(first).toMatchObject({ engine: 'sglang', url: engines[0].url, baseUrl: engines[0].url });
    expect(first.capabilities).toEqual({
      source: 'static',
      pauseModes: ['abort', 'retract', 'in_place'],
      updateFrom: ['disk', 'tensor', 'distributed'],
      abort: true,
      flushCache: true,
      sleepWake: true,
      reportsWeightVersion: true,
    });
  });

  it.each(['nope', 'a/b', '../workers', 'a b?c#d%', 'é', '%2e%2e'])(
    'does not know %s, whatever is asked of it',
    async (id) => {
      for (const call of [
        rl.worker(id),
        rl.setVersion(id, 1),
        rl.setState(id, 'active'),
        rl.call(id, 'health', undefined, { method: 'GET' }),
      ]) {
        expect(await rejection(call)).toMatchObject({
          status: 404,
          code: 'worker_not_found',
          payload: { id },
        });
      }
    },
  );
});

describe('versions and states', () => {
  it('of one engine', async () => {
    expect(await rl.setVersion(first.id, 41)).toMatchObject({
      weightVersion: '41',
      versionSource: 'api',
    });
    expect(await rl.setState(first.id, 'asleep')).toMatchObject({ control: 'asleep' });
    expect(await rl.worker(first.id)).toMatchObject({ weightVersion: '41', control: 'asleep' });
  });

  it('of all that match', async () => {
    const versioned = await rl.setFleetVersion('42', { selector: SGLANG });
    expect(versioned.map(({ weightVersion }) => weightVersion)).toEqual(['42', '42']);
    const selector = 'engine in (sglang, "vllm")';
    const slept = await rl.setFleetState('paused', { selector });
    expect(slept.map(({ control }) => control)).toEqual(['paused', 'paused', 'paused']);
  });

  it.each<[string, number, () => Promise<unknown>]>([
    ['invalid_version', 400, () => rl.setVersion(first.id, 'a b')],
    ['invalid_body', 400, () => rl.setState(first.id, 'napping' as 'asleep')],
    ['invalid_selector', 400, () => rl.setFleetVersion(1, { selector: 'engine==x' })],
    ['selector_required', 400, () => rl.setFleetState('active', { selector: ' ' })],
    ['no_workers_match', 400, () => rl.fanout('health', undefined, { selector: 'engine=none' })],
  ])('%s', async (code, status, call) => {
    const error = await rejection(call());
    expect(error).toBeInstanceOf(RlError);
    expect(error).not.toBeInstanceOf(FanoutError);
    expect(error).toMatchObject({ code, status });
  });

  it('tells where a selector is wrong', async () => {
    const error = await rejection(rl.setFleetVersion(1, { selector: 'engine==x' }));
    expect(error.payload).toMatchObject({ offset: 7 });
  });
});

describe('a call', () => {
  it('brings what the engine says', async () => {
    const result = await rl.call(first.id, 'server_info', undefined, { method: 'GET' });
    expect(result).toMatchObject({
      workerId: first.id,
      url: first.url,
      status: 200,
      latencyMs: expect.any(Number),
      body: { model_path: 'mock-model' },
      bodyTruncated: false,
    });
  });

  it('brings a refusal, too', async () => {
    expect(await rl.call(first.id, 'no_such_route', {})).toMatchObject({ status: 404 });
    expect(await rl.call(first.id, 'pause_generation')).toMatchObject({ status: 400 });
  });

  it('arrives as it was meant', async () => {
    const { id } = await rowAt(odd);
    const params = { tags: ['weights', 'kv_cache'], a: 'b&c=d é+', selector: 'gone' };
    const { body } = await rl.call(id, 'echo', { text: 'é' }, { params });
    expect(body).toMatchObject({
      query: [
        ['tags', 'weights'],
        ['tags', 'kv_cache'],
        ['a', 'b&c=d é+'],
      ],
      text: '{"text":"é"}',
      headers: { 'content-type': 'application/json' },
    });
  });

  it('of an odd engine', async () => {
    const { id } = await rowAt(odd);
    expect(await rl.call(id, 'text')).toMatchObject({ status: 200, body: 'plain' });
    expect(await rl.call(id, 'redirect')).toMatchObject({ status: 302, body: 'elsewhere' });
    const huge = await rl.call(id, 'huge');
    expect(huge).toMatchObject({ status: 200, bodyTruncated: true });
    expect(huge.body).toHaveLength(1_048_576);
    // A 204 has no body on the wire, so there is nothing to make a result of.
    expect(await rejection(rl.call(id, 'nothing'))).toMatchObject({
      code: 'unexpected_response',
      status: 204,
    });
  });

  it.each(['a?b', 'a/b/c/d/e', '', '///x', 'x/', '%2e%2e/x', 'é'])(
    'the gateway refuses the path %j',
    async (path) => {
      expect(await rejection(rl.call(first.id, path))).toMatchObject({
        status: 400,
        code: 'invalid_engine_path',
      });
    },
  );

  it('the gateway refuses another method', async () => {
    const call = rl.call(first.id, 'x', undefined, { method: 'delete' as 'POST' });
    expect(await rejection(call)).toMatchObject({ status: 405, code: 'http_error' });
  });

  it('that takes too long: the gateway says so', async () => {
    const { id } = await rowAt(odd);
    expect(await rejection(rl.call(id, 'slow'))).toMatchObject({
      status: 504,
      code: 'upstream_timeout',
    });
  });

  it('that is given up reaches the engine as a hang-up', async () => {
    const { id } = await rowAt(odd);
    const before = odd.hangUps;
    const signal = AbortSignal.timeout(50);
    expect(await rejection(rl.call(id, 'slow', {}, { signal }))).toBe(signal.reason);
    await until('the engine was hung up on', () => odd.hangUps > before, 900);
  });
});

describe('a fan-out', () => {
  it('reaches all', async () => {
    const result = await rl.fanout('health', undefined, { selector: BOTH, method: 'GET' });
    expect(result).toMatchObject({ total: 3, succeeded: 3, failed: [] });
    expect(Object.keys(result.results)).toHaveLength(3);
  });

  it('that failed in part', async () => {
    const options = { selector: BOTH, method: 'GET' } as const;
    const error = await rejection(rl.fanout('server_info', undefined, options));
    expect(error).toBeInstanceOf(FanoutError);
    expect(error).toMatchObject({ status: 207, code: 'fanout_partial' });
    const vllm = await rowAt(engines[2]);
    expect(error.result).toMatchObject({
      total: 3,
      succeeded: 2,
      failed: [{ workerId: vllm.id, url: vllm.url, status: 404, error: 'upstream_error' }],
    });
    expect(error.message).toContain(vllm.id);
    expect(error.result.results).toHaveProperty([vllm.id]);
    const partial = await rl.fanout('server_info', undefined, { ...options, allowPartial: true });
    expect(partial.failed).toEqual(error.result.failed);
  });
});

describe('paused', () => {
  it('and refitted', async () => {
    const report = await paused(
      rl,
      SGLANG,
      async (pause) => {
        expect(pause).toMatchObject({ total: 2, succeeded: 2 });
        expect(await states()).toEqual(['paused', 'paused']);
        const body = { model_path: '/m', weight_version: '50', flush_cache: true };
        return rl.fanout('update_weights_from_disk', body, { selector: SGLANG });
      },
      { mode: 'retract' },
    );
    expect(report.succeeded).toBe(2);
    expect(await states()).toEqual(['active', 'active']);
    expect(engines[0].weightVersion).toBe('50');
    expect(await rowAt(engines[1])).toMatchObject({
      weightVersion: '50',
      versionSource: 'passthrough',
    });
  });

  it('a pause that failed in part is undone', async () => {
    const run = jest.fn();
    // vLLM has no such routes.
    const error = await rejection(paused(rl, BOTH, run));
    expect(run).not.toHaveBeenCalled();
    expect(error).toBeInstanceOf(FanoutError);
    expect(error.result.succeeded).toBe(2);
    expect(error.cause).toBeInstanceOf(FanoutError);
    expect(await states()).toEqual(['active', 'active']);
  });

  it('resumes after a failure', async () => {
    const mine = new Error('mine');
    expect(await rejection(paused(rl, SGLANG, () => Promise.reject(mine)))).toBe(mine);
    expect(mine.cause).toBeUndefined();
    expect(await states()).toEqual(['active', 'active']);
  });

  it('resumes after a signal', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const run = async (): Promise<void> => {
      controller.abort();
      await rl.fanout('health', undefined, { selector: SGLANG, method: 'GET', signal });
    };
    expect(await rejection(paused(rl, SGLANG, run, { signal }))).toBe(signal.reason);
    expect(await states()).toEqual(['active', 'active']);
  });
});

describe('who is let in', () => {
  it.each([undefined, '', 'wrong'])('nobody with the key %p', async (apiKey) => {
    const stranger = new RL({ baseUrl: gateway.url, apiKey });
    expect(await rejection(stranger.workers())).toMatchObject({ status: 401, code: 'http_error' });
  });

  it("Node's fetch does the same", async () => {
    const other = new RL({ baseUrl: gateway.url, apiKey: KEY, fetch });
    expect(await other.workers()).toHaveLength(4);
    expect(await other.setVersion(first.id, 51)).toMatchObject({ weightVersion: '51' });
  });
});

it('a gateway without the control plane', async () => {
  const plain = await startGateway();
  const error = await rejection(new RL({ baseUrl: plain.url }).workers());
  expect(error.message).toBe('http_error (HTTP 404)');
  await plain.close();
});
