import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { describeLanes } from './support/lanes';
import { startAll, startRl, type RlGateway } from './support/rl';

const ROUTES = [
  ['/inference/v1/generate', { token_ids: [1, 2, 3], sampling_params: { max_tokens: 2 } }],
  ['/skyrl/v1/generate', { token_ids: [1, 2], features: [{ a: 1e21 }], cache_salt: '42' }],
  ['/v1/chat/completions/render', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/tokenize', { prompt: 'Hello world' }],
  ['/detokenize', { tokens: [1, 2] }],
] as const;

describeLanes('data routes of vLLM and of trainers', ({ hotLane }) => {
  const one = new MockEngine({ kind: 'vllm' });
  const two = new MockEngine({ kind: 'vllm' });
  let stop: () => Promise<void>;
  let gateway: RlGateway;

  beforeAll(async () => {
    stop = await startAll(one, two);
    for (const [route] of ROUTES) {
      for (const engine of [one, two]) engine.behave({ route, body: { here: route } });
    }
    gateway = await startRl(
      {
        requests: { hotLane },
        workers: { modelAliases: [{ alias: 'x', canonical: 'mock-model' }] },
      },
      { engines: [one, two] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it.each(ROUTES)('%s: as it is, filtered, stamped', async (route, given) => {
    await gateway.rl.setVersion(two, '5');
    await gateway.rl.setControl(one, 'paused');
    const body = JSON.stringify(given).replace(':', ' : ');
    for (let i = 0; i < 2; i++) {
      const { status, headers, json } = await send(`${gateway.url}${route}?q=1`, { body });
      expect([status, json]).toEqual([200, { here: route }]);
      expect(headers['x-smg-routed-worker-id']).toBe(two.url);
      expect(headers['x-smg-weight-version']).toBe('5');
    }
    const seen = two.requests.at(-1);
    expect([seen?.path, seen?.body.toString()]).toEqual([`${route}?q=1`, body]);
    await gateway.rl.setControl(one, 'active');
  });

  it.each(ROUTES)('%s: a model is optional, an alias is written out', async (route, given) => {
    const known = await send(`${gateway.url}${route}`, { body: { ...given, model: 'x' } });
    expect(known.status).toBe(200);
    const seen = [...one.requestsTo(route), ...two.requestsTo(route)];
    expect(seen.some(({ body }) => body.toString().includes('"mock-model"'))).toBe(true);
    const unknown = await send(`${gateway.url}${route}`, { body: { ...given, model: 'other' } });
    expect([unknown.status, unknown.json['error'].code]).toEqual([404, 'model_not_found']);
  });

  it('errors are JSON', async () => {
    for (const [route] of ROUTES) {
      const { status, json } = await send(`${gateway.url}${route}`, { body: '{' });
      expect([status, json['error'].code]).toEqual([400, 'json_parse_error']);
    }
  });

  it('session and rank reach the engine', async () => {
    const headers = { 'x-session-id': 's-1', 'x-data-parallel-rank': '3' };
    await send(`${gateway.url}/tokenize`, { body: { prompt: 'a' }, headers });
    const seen = [one, two].flatMap((it) => it.requestsTo('/tokenize'));
    const rank = seen.map((it) => [it.header('x-session-id'), it.header('x-data-parallel-rank')]);
    expect(rank).toContainEqual(['s-1', '3']);
  });
});

describe('short names of the information routes', () => {
  it.each(['/server_info', '/model_info'])('%s is relayed from a ready engine', async (path) => {
    const engine = new MockEngine();
    await engine.start();
    const gateway = await startGateway({ auth: { apiKey: 'k' } }, { engines: [engine] });
    try {
      const { status, json } = await send(`${gateway.url}${path}`);
      expect([status, json['model_path']]).toEqual([200, 'mock-model']);
      engine.behave({ route: path, status: 404 });
      expect((await send(`${gateway.url}${path}`)).json['model_path']).toBe('mock-model');
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});

describe('the fleet as one engine', () => {
  const one = new MockEngine({ tokens: 50, tokenLatencyMs: 20 });
  const two = new MockEngine({ dpSize: 2 });
  let stop: () => Promise<void>;
  let gateway: RunningGateway;
  const requests = async (): Promise<number> =>
    (await send(`${gateway.url}/v1/loads?include=core`)).json['num_reqs'];

  beforeAll(async () => {
    stop = await startAll(one, two);
    gateway = await startGateway({ routing: { policy: 'round_robin' } }, { engines: [one, two] });
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it('GET and POST /flush_cache reach every engine', async () => {
    for (const method of ['GET', 'POST']) {
      const { status, json } = await send(`${gateway.url}/flush_cache`, { method });
      expect([method, status, json['workers_flushed']]).toEqual([method, 200, 2]);
    }
  });

  it('/v1/loads says when the fleet is drained', async () => {
    expect(await requests()).toBe(0);
    const runs = [1, 2, 3, 4].map(() => send(`${gateway.url}/generate`, { body: { text: 'a' } }));
    await until('it shows', async () => (await requests()) >= 2);
    await Promise.all(runs);
    await until('it is drained', async () => (await requests()) === 0);
    const { json } = await send(`${gateway.url}/v1/loads`);
    expect(json['loads'].map((it: { worker: string }) => it.worker)).toEqual(
      expect.arrayContaining([one.url, two.url]),
    );
    expect(json['dp_rank_count']).toBe(json['loads'].length);
  });
});

describe('conversations', () => {
  it.each(['manual', 'round_robin'])(
    'stay with their worker until they are finished, %s',
    async (policy) => {
      // The policy manual goes by the gateway's own header alone, as the contract has it.
      const names = ['x-smg-routing-key', 'x-session-id'].slice(0, policy === 'manual' ? 1 : 2);
      const engines = [new MockEngine(), new MockEngine(), new MockEngine()];
      const stop = await startAll(...engines);
      const gateway = await startGateway(
        {
          routing: {
            policy,
            routingKeyOverride: policy === 'round_robin',
            routingKeyHeaders: ['x-smg-routing-key', 'x-session-id'],
          },
        },
        { engines },
      );
      const servedBy = async (headers: Record<string, string>): Promise<string> => {
        const { headers: got } = await send(`${gateway.url}/generate`, {
          headers,
          body: { text: 'a' },
        });
        return String(got['x-smg-routed-worker-id']);
      };
      try {
        for (const name of names) {
          const headers = { [name]: 'traj-1' };
          const first = await servedBy(headers);
          for (let i = 0; i < 4; i++) expect(await servedBy(headers)).toBe(first);
        }
        const finish = (id: string): Promise<Answer> =>
          send(`${gateway.url}/finish_session?session_id=${id}`, { method: 'POST' });
        // Forgotten, it is placed anew: with three workers, not always at the same.
        const places = new Set<string>();
        for (let i = 0; i < 40; i++) {
          expect((await finish('traj-1')).status).toBe(200);
          places.add(await servedBy({ [names[0] ?? '']: 'traj-1' }));
        }
        expect(places.size).toBeGreaterThan(1);
        expect((await finish('never-heard-of')).json).toEqual({ status: 'ok' });
        expect((await finish('')).status).toBe(200);
      } finally {
        await gateway.close();
        await stop();
      }
    },
  );

  it('with serving keys, a client’s call', async () => {
    const gateway = await startGateway({ auth: { apiKey: 'k' } });
    const url = `${gateway.url}/finish_session?session_id=a`;
    try {
      expect((await send(url, { method: 'POST' })).status).toBe(401);
      const headers = { authorization: 'Bearer k' };
      expect((await send(url, { method: 'POST', headers })).status).toBe(200);
    } finally {
      await gateway.close();
    }
  });
});

describeLanes('statuses of clients that retry by them', ({ hotLane }) => {
  it('nobody eligible and a failed engine have the statuses configured; codes stay', async () => {
    const engine = new MockEngine();
    await engine.start();
    const gateway = await startRl(
      { requests: { hotLane, noEligibleStatus: 409, backendFailedStatus: 500, timeoutSecs: 1 } },
      { engines: [engine] },
    );
    const generate = (): Promise<Answer> =>
      send(`${gateway.url}/generate`, { body: { text: 'a' } });
    const told = (answer: Answer): unknown => [
      answer.status,
      answer.json['error'].code,
      answer.headers['x-smg-error-code'],
    ];
    try {
      await gateway.rl.setControl(engine, 'paused');
      expect(told(await generate())).toEqual([409, ...Array(2).fill('no_available_workers')]);
      await gateway.rl.setControl(engine, 'active');
      const whole = engine.behave({ route: '/generate', cut: { at: 'request', how: 'reset' } });
      expect(told(await generate())).toEqual([
        500,
        ...Array(2).fill('call_upstream_request_error'),
      ]);
      whole();
      const end = engine.behave({ route: '/generate', delayMs: 5000 });
      expect(told(await generate())).toEqual([500, ...Array(2).fill('call_upstream_timeout')]);
      end();
      // What an engine says itself is its own.
      engine.behave({ route: '/generate', status: 503, body: { error: 'busy' }, times: 1 });
      expect((await generate()).status).toBe(503);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
