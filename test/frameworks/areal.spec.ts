import { textOf } from '../contract/support/pages';
import { type Answer } from '../support/http';
import { until } from '../support/until';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { describeUnsupported } from './support/not-supported';
import { isOk, Trainer, type Persistence } from './support/trainer';

// AReaL takes addresses of servers; here the gateway is the only one, so control calls reach every engine.

const CLIENT: Persistence = { tries: 3, pauseMs: 20, takes: isOk };

interface Rollout {
  readonly tokens: number[];
  readonly logprobs: number[];
  /** Version of each token, in AReaL's own count. */
  readonly versions: number[];
  readonly stop: string;
  readonly turns: number;
}

describe('AReaL over SGLang', () => {
  let fleet: Fleet;
  /** AReaL counts versions itself. */
  let version: number;
  beforeEach(async () => {
    version = 0;
    fleet = await startFleet({
      isKnown: true,
      persistence: CLIENT,
      engine: { tokens: 40, tokenLatencyMs: 5 },
      config: {
        rl: { enabled: true, routerVerbs: true },
        retry: PATIENT,
      },
    });
  });
  afterEach(() => fleet.stop());

  /** An answer that was aborted is asked for again from where it ended, at most 20 times. */
  async function agenerate(input: readonly number[]): Promise<Rollout> {
    const done: Rollout = { tokens: [], logprobs: [], versions: [], stop: 'length', turns: 0 };
    let { stop, turns } = done;
    for (; turns < 20;) {
      turns += 1;
      const { json } = await fleet.trainer.post('/generate', {
        input_ids: [...input, ...done.tokens],
        sampling_params: { max_new_tokens: 64 - done.tokens.length, temperature: 1 },
        return_logprob: true,
        stream: false,
      });
      const meta = json['meta_info'];
      const pairs: readonly [number, number][] = meta.output_token_logprobs ?? [];
      done.tokens.push(...pairs.map(([, token]) => token));
      done.logprobs.push(...pairs.map(([logprob]) => logprob));
      done.versions.push(...pairs.map(() => version));
      stop = meta.finish_reason.type;
      if (stop !== 'abort') break;
    }
    return { ...done, stop, turns };
  }

  const control = (path: string, body: object): Promise<Answer> => fleet.trainer.post(path, body);

  it('an interrupted rollout goes on after the update, with every token accounted for', async () => {
    const running = Array.from({ length: 6 }, (_, at) => agenerate([at, at + 1]));
    await until('they run', () =>
      fleet.engines.every(({ state }) =>
        [...state.running].some(({ tokens }) => tokens.length > 2),
      ),
    );
    expect((await control('/pause_generation', {})).status).toBe(200);
    const update = {
      model_path: '/checkpoints/1',
      abort_all_requests: true,
      weight_version: '1',
    };
    expect((await control('/update_weights_from_disk', update)).json).toMatchObject({
      succeeded: 2,
    });
    version = 1;
    expect((await control('/continue_generation', {})).status).toBe(200);
    for (const rollout of await Promise.all(running)) {
      expect(rollout.stop).toBe('stop');
      expect(rollout.turns).toBe(2);
      expect(rollout.tokens).toHaveLength(rollout.logprobs.length);
      expect(rollout.versions).toHaveLength(rollout.tokens.length);
    }
    const { headers } = await fleet.trainer.post('/generate', { input_ids: [1] });
    expect(headers['x-smg-weight-version']).toBe('1');
  });

  it('colocation: pauses in place, gives memory up and takes it back', async () => {
    const states = async (): Promise<unknown[]> =>
      (await fleet.rl.rows()).map(({ control: state }) => state as unknown);
    for (const [path, body, state] of [
      ['/pause_generation', {}, 'paused'],
      ['/abort_request', { abort_all: true }, 'paused'],
      ['/pause_generation', { mode: 'in_place' }, 'paused'],
      ['/release_memory_occupation', { tags: ['kv_cache'] }, 'asleep'],
      ['/resume_memory_occupation', { tags: ['kv_cache'] }, 'paused'],
      ['/continue_generation', {}, 'active'],
    ] as const) {
      expect([path, (await control(path, body)).status]).toEqual([path, 200]);
      expect([path, await states()]).toEqual([path, [state, state]]);
    }
  });

  it('other calls of its adapters reach every engine', async () => {
    for (const [path, body] of [
      ['/init_weights_update_group', { master_address: 'h', master_port: '1', world_size: 3 }],
      ['/update_weights_from_distributed', { names: ['a'], abort_all_requests: true }],
      ['/load_lora_adapter', { lora_name: 'a', lora_path: '/a' }],
    ] as const) {
      expect([path, (await control(path, body)).json['succeeded']]).toEqual([path, 2]);
      for (const engine of fleet.engines) {
        expect(engine.requestsTo(path).at(-1)?.json()).toEqual(body);
      }
    }
    expect((await fleet.trainer.get('/health')).status).toBe(200);
  });

  it('an answer without output stays what the engine made of it', async () => {
    const body =
      '{"text":"","output_ids":[],"meta_info":{"id":"r","finish_reason":{"type":"abort",' +
      '"message":"Abort before prefill"},"weight_version":"0"}}';
    for (const engine of fleet.engines) {
      engine.behave({ route: '/generate', body, headers: { 'content-type': 'application/json' } });
    }
    expect((await fleet.trainer.post('/generate', { input_ids: [1] })).text).toBe(body);
  });

  it('a success that the engine denies in its body is no success', async () => {
    fleet.engine(0).behave({
      route: '/update_weights_from_disk',
      body: { success: false, message: 'no such file' },
    });
    const answer = await new Trainer(fleet.gateway.url).post('/update_weights_from_disk', {
      model_path: '/none',
      weight_version: '9',
    });
    const rows = await fleet.rl.rows();
    expect(rows.map(({ weight_version }) => weight_version as unknown).sort()).toEqual(['9', null]);
    const said = Object.values(
      answer.json['results'] as Record<string, { body: { success: boolean } }>,
    );
    expect(said.map(({ body }) => body.success).sort()).toEqual([false, true]);
  });

  describeUnsupported(
    () => fleet.gateway.url,
    ['/areal_update_weights', '/areal_pause_generation', '/set_version/1'].map((path) => ({
      what: `${path} at the gateway`,
      why: 'routes of AReaL servers are reached one engine at a time, or by a selector',
      method: 'POST',
      path,
      body: {},
      status: 404,
    })),
    () => textOf('docs/frameworks/areal.md'),
  );
});

describe('AReaL over its own vLLM server', () => {
  it('its routes are called by a selector, and judged by what they say', async () => {
    const fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      config: { rl: { enabled: true }, retry: PATIENT },
    });
    try {
      for (const engine of fleet.engines) {
        for (const name of ['pause_generation', 'update_weights', 'continue_generation']) {
          engine.behave({ route: `/areal_${name}`, body: { success: true, message: 'ok' } });
        }
      }
      const all = async (path: string, body: object = {}): Promise<Answer> =>
        fleet.rl.fanout(path, 'engine=vllm', { body });
      // The gateway does not know these routes: it is told what they do.
      await fleet.rl.setFleetControl('paused', 'engine=vllm');
      expect((await all('areal_pause_generation')).status).toBe(200);
      expect((await all('areal_update_weights', { model_path: '/ckpt' })).status).toBe(200);
      await fleet.rl.setFleetVersion('4', 'engine=vllm');
      expect((await all('areal_continue_generation')).status).toBe(200);
      const waiting = fleet.trainer.post('/v1/completions', { model: 'mock-model', prompt: 'x' });
      await fleet.rl.setFleetControl('active', 'engine=vllm');
      const answer = await waiting;
      expect([answer.status, answer.headers['x-smg-weight-version']]).toEqual([200, '4']);
    } finally {
      await fleet.stop();
    }
  });
});
