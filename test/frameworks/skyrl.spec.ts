import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from '../contract/support/pages';
import { send, type Answer } from '../support/http';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { describeUnsupported } from './support/not-supported';
import { Trainer, type Persistence } from './support/trainer';

// SkyRL with nothing but a proxy: rollouts and control calls both go to the gateway.

const isJson = ({ headers }: Answer): boolean => (headers['content-type'] ?? '').includes('json');

/** Lost connections, and answers of 500 and above that are not JSON, are tried again 30 times. */
const CLIENT: Persistence = {
  tries: 30,
  pauseMs: 20,
  takes: (answer) => answer.status < 500 || isJson(answer),
};

const VERBS = { rl: { enabled: true, routerVerbs: true }, retry: PATIENT } as const;

const tokens = (ids: readonly number[], more: object = {}): object => ({
  token_ids: ids,
  model: 'mock-model',
  sampling_params: { max_tokens: 8, logprobs: 0 },
  ...more,
});

describe('SkyRL', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({ kind: 'vllm', isKnown: true, persistence: CLIENT, config: VERBS });
  });
  afterEach(() => fleet.stop());

  it.each(['/inference/v1/generate', '/skyrl/v1/generate'])(
    'rolls out over %s: token ids in, token ids and logprobs out',
    async (path) => {
      const body = tokens([1, 2, 3], { cache_salt: '7', features: null });
      const { status, json, headers } = await fleet.trainer.post(path, body, {
        'X-Session-ID': 'trajectory-1',
      });
      expect(status).toBe(200);
      const [choice] = json['choices'];
      expect(choice.token_ids).toHaveLength(4);
      expect(choice.logprobs.content).toHaveLength(4);
      expect(choice.finish_reason).toBe('stop');
      expect(headers['x-smg-routed-worker-id']).toBeDefined();
      const sent = fleet.engines.flatMap((engine) => engine.requestsTo(path));
      expect(sent.map((request) => [request.json(), request.header('x-session-id')])).toEqual([
        [body, 'trajectory-1'],
      ]);
    },
  );

  it('renders chats, tokenizes and detokenizes through the proxy', async () => {
    const messages = [{ role: 'user', content: 'one two three' }];
    const rendered = await fleet.trainer.post('/v1/chat/completions/render', {
      model: 'mock-model',
      messages,
    });
    expect([rendered.status, rendered.json['token_ids']]).toEqual([200, [1, 2, 3]]);
    const counted = await fleet.trainer.post('/tokenize', {
      model: 'mock-model',
      messages,
      add_generation_prompt: true,
    });
    expect([counted.status, counted.json['tokens']]).toEqual([200, [1, 2, 3]]);
    const text = await fleet.trainer.post('/detokenize', { model: 'mock-model', tokens: [4, 5] });
    expect([text.status, text.json['prompt']]).toEqual([200, '<4><5>']);
  });

  it('a trajectory stays with its engine, by X-Session-ID, until it is finished', async () => {
    await fleet.stop();
    fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      persistence: CLIENT,
      config: {
        ...VERBS,
        routing: { policy: 'consistent_hashing', routingKeyHeaders: ['x-session-id'] },
      },
    });
    const workers = new Set<unknown>();
    for (let turn = 1; turn <= 6; turn += 1) {
      const { headers } = await fleet.trainer.post(
        '/inference/v1/generate',
        tokens(Array.from({ length: turn }, (_, at) => at)),
        { 'X-Session-ID': 'trajectory-9' },
      );
      workers.add(headers['x-smg-routed-worker-id']);
    }
    expect(workers.size).toBe(1);
    const finished = await fleet.trainer.post('/finish_session?session_id=trajectory-9');
    expect(finished.status).toBe(200);
    // One that was never there is finished as well.
    expect((await fleet.trainer.post('/finish_session?session_id=nobody')).status).toBe(200);
  });

  it('a sticky session stays whatever the policy, and once finished is placed anew', async () => {
    await fleet.stop();
    fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      config: {
        routing: {
          policy: 'round_robin',
          routingKeyOverride: true,
          routingKeyHeaders: ['x-session-id'],
        },
      },
    });
    const { trainer } = fleet;
    const turn = async (): Promise<unknown> => {
      const headers = { 'X-Session-ID': 't' };
      const answer = await trainer.post('/inference/v1/generate', tokens([1]), headers);
      return answer.headers['x-smg-routed-worker-id'];
    };
    const first = await turn();
    for (let at = 0; at < 5; at += 1) expect(await turn()).toBe(first);
    await trainer.post('/finish_session?session_id=t');
    const second = await turn();
    expect(second).not.toBe(first);
    expect(await turn()).toBe(second);
  });

  it('whatever goes wrong, the body is JSON: anything else ends the run', async () => {
    const answers = [
      await fleet.trainer.post('/inference/v1/generate', '{"token_ids": [1'),
      await fleet.trainer.post('/inference/v1/generate', tokens([1], { model: 'nobody' })),
      await fleet.trainer.post('/inference/v1/generate', { token_ids: 'x', model: 'mock-model' }),
      await fleet.trainer.post('/v1/chat/completions', { model: 'mock-model' }),
      await fleet.trainer.post('/tokenize', { model: 'nobody', prompt: 'x' }),
      await fleet.trainer.post('/pause?mode=sideways'),
      await fleet.trainer.post('/sleep?level=9'),
      await fleet.trainer.post('/collective_rpc', {}),
    ];
    for (const engine of fleet.engines) engine.crash();
    answers.push(await fleet.trainer.post('/inference/v1/generate', tokens([1])));
    answers.push(await fleet.trainer.post('/pause'));
    for (const answer of answers) {
      expect([answer.text, isJson(answer)]).toEqual([answer.text, true]);
      expect(answer.json).toEqual(expect.any(Object));
    }
    expect(answers.map(({ status }) => status >= 400)).toEqual(answers.map(() => true));
  }, 30_000);

  it('one fan-out for each step of a refit, with every engine in the answer', async () => {
    const { trainer, engines } = fleet;
    const steps: readonly (readonly [string, object?])[] = [
      ['/pause?mode=keep&clear_cache=false'],
      ['/start_weight_update', {}],
      ['/update_weights', { update_info: { names: ['a'], dtype_names: ['bf16'], shapes: [[1]] } }],
      ['/finish_weight_update', { weight_version: '3' }],
      ['/reset_prefix_cache', { reset_running_requests: true }],
      ['/resume'],
    ];
    for (const [path, body] of steps) {
      const answer = await trainer.post(path, body);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.json).toMatchObject({ total: 2, succeeded: 2, failed: [] });
    }
    for (const engine of engines) {
      expect(engine.requests.map(({ path }) => path).filter((path) => path !== '/health')).toEqual(
        expect.arrayContaining(steps.map(([path]) => path)),
      );
    }
    const { headers } = await trainer.post('/inference/v1/generate', tokens([1]));
    expect(headers['x-smg-weight-version']).toBe('3');
  });

  it('rollouts that meet a pause wait for the new weights, and none is lost', async () => {
    const { trainer } = fleet;
    await fleet.rl.setFleetVersion('1', 'engine=vllm');
    await trainer.post('/pause?mode=keep&clear_cache=false');
    const waiting = Array.from({ length: 12 }, (_, at) =>
      trainer.post('/inference/v1/generate', tokens([at])),
    );
    await sleep(100);
    await trainer.post('/finish_weight_update', { weight_version: '2' });
    await trainer.post('/resume');
    for (const answer of await Promise.all(waiting)) {
      expect([answer.status, answer.headers['x-smg-weight-version']]).toEqual([200, '2']);
      expect(answer.headers['x-smg-mixed-version']).toBeUndefined();
    }
  });

  it('colocated: sleeps and wakes by tags, and methods of the workers are called on all', async () => {
    const { trainer, engines } = fleet;
    const controls = async (): Promise<unknown[]> =>
      (await fleet.rl.rows()).map(({ control }) => control as unknown);
    await trainer.post('/sleep?level=2&tags=weights');
    expect(await controls()).toEqual(['asleep', 'asleep']);
    await trainer.post('/wake_up?tags=weights');
    expect(await controls()).toEqual(['asleep', 'asleep']);
    for (const method of [
      'skyrl_start_weight_update',
      'update_weights_ipc',
      'update_weights_nccl',
      'skyrl_finish_weight_update',
      'skyrl_sleep_for_weight_sync',
      'skyrl_wake_for_weight_sync',
    ]) {
      const body = { method, kwargs: { request: { names: ['a'] } } };
      expect((await trainer.post('/collective_rpc', body)).json).toMatchObject({ succeeded: 2 });
      for (const engine of engines) {
        expect(engine.requestsTo('/collective_rpc').at(-1)?.json()).toEqual(body);
      }
    }
    await trainer.post('/wake_up?tags=kv_cache');
    expect(await controls()).toEqual(['active', 'active']);
  });

  it('asks for the world size, the state, and loads adapters, on all engines', async () => {
    const { trainer } = fleet;
    for (const path of ['/get_world_size', '/is_paused', '/is_sleeping']) {
      const { status, json } = await trainer.get(path);
      expect([path, status, json['total']]).toEqual([path, 200, 2]);
    }
    // What an engine alone would say, for all of them: it reads these out of the body.
    expect((await trainer.get('/get_world_size')).json['world_size']).toBe(2);
    expect((await trainer.get('/is_paused')).json['is_paused']).toBe(false);
    await trainer.post('/pause?mode=keep');
    expect((await trainer.get('/is_paused')).json['is_paused']).toBe(true);
    await trainer.post('/resume');
    const adapter = { lora_name: 'skyrl-lora', lora_path: '/adapters/1' };
    expect((await trainer.post('/v1/load_lora_adapter', adapter)).status).toBe(200);
    expect((await trainer.post('/v1/unload_lora_adapter', adapter)).status).toBe(200);
    for (const engine of fleet.engines) {
      expect(engine.requestsTo('/v1/load_lora_adapter').at(-1)?.json()).toEqual(adapter);
    }
  });

  it('a call that one engine refuses is no success, and says who', async () => {
    fleet.engine(1).behave({ route: '/pause', status: 500, times: 1 });
    const answer = await fleet.trainer.post('/pause?mode=keep');
    expect(answer.status).toBe(500);
    expect(answer.json).toMatchObject({
      success: false,
      succeeded: 1,
      failed: [{ url: fleet.engine(1).url, status: 500 }],
    });
  });

  it('engines one by one: the rank offset of each goes to its own URL below the gateway', async () => {
    const engines = await fleet.rl.rows();
    for (const [at, { id }] of engines.entries()) {
      const server = `/v1/rl/workers/${id}/engine`;
      const init_info = { master_address: 'h', master_port: 1, rank_offset: at + 1, world_size: 3 };
      const answer = await fleet.trainer.post(`${server}/init_weight_transfer_engine`, {
        init_info,
      });
      expect(answer.status).toBe(200);
      expect((await fleet.trainer.get(`${server}/get_world_size`)).json['body']).toEqual({
        world_size: 1,
      });
    }
    const offsets = fleet.engines.map(
      (engine) =>
        engine.requestsTo('/init_weight_transfer_engine')[0]?.jsonObject()?.['init_info'] as {
          rank_offset: number;
        },
    );
    expect(offsets.map(({ rank_offset }) => rank_offset).sort()).toEqual([1, 2]);
  });

  it('connections its pool kept for 2 s are still good', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const url = `${fleet.gateway.url}/inference/v1/generate`;
    for (let at = 0; at < 2; at += 1) {
      if (at > 0) await sleep(2_000);
      const body = tokens([at]);
      expect((await send(url, { agent, method: 'POST', body })).status).toBe(200);
    }
    agent.destroy();
  });

  describe('without --rl-router-verbs', () => {
    let plain: Fleet;
    beforeAll(async () => {
      plain = await startFleet({ kind: 'vllm', isKnown: true });
    });
    afterAll(() => plain.stop());

    describeUnsupported(
      () => plain.gateway.url,
      ['/pause', '/resume', '/sleep', '/wake_up', '/collective_rpc', '/update_weights'].map(
        (path) => ({
          what: `${path} at the gateway`,
          why: 'control of the fleet at the root is switched on with --rl-router-verbs',
          method: 'POST',
          path,
          status: 404,
        }),
      ),
      () => textOf('docs/frameworks/skyrl.md'),
    );

    it('no engine hears of it', async () => {
      await new Trainer(plain.gateway.url).post('/pause');
      expect(plain.engines.flatMap((engine) => engine.requestsTo('/pause'))).toEqual([]);
    });
  });
});
