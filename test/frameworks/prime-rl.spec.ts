import { textOf } from '../contract/support/pages';
import { type Answer } from '../support/http';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { describeUnsupported } from './support/not-supported';
import { isOk, Trainer, type Persistence } from './support/trainer';

// prime-rl with both its base URL and its admin URL at the gateway.

/** Admin calls are tried again on 5xx and timeouts, ten times. */
const ADMIN: Persistence = { tries: 10, pauseMs: 20, takes: ({ status }) => status < 500 };

describe('prime-rl', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      persistence: ADMIN,
      engine: { tokens: 6, tokenLatencyMs: 5 },
      config: {
        rl: { enabled: true, routerVerbs: true },
        routing: { policy: 'consistent_hashing', routingKeyHeaders: ['x-session-id'] },
        retry: PATIENT,
      },
    });
  });
  afterEach(() => fleet.stop());

  it('waits for the inference pool: health, liveness, and the model it expects', async () => {
    const { trainer } = fleet;
    expect((await trainer.get('/health')).status).toBe(200);
    expect((await trainer.get('/liveness')).status).toBe(200);
    const { data } = (await trainer.get('/v1/models')).json;
    expect(data.map(({ id }: { id: string }) => id)).toEqual(['mock-model']);
  });

  it('rolls out by chat and by token ids, a trajectory on one engine', async () => {
    const { trainer } = fleet;
    const workers = new Map<string, Set<unknown>>();
    for (let at = 0; at < 16; at += 1) {
      const session = `trajectory-${at % 4}`;
      const headers = { 'X-Session-ID': session };
      const answer =
        at < 8
          ? await trainer.post(
              '/v1/chat/completions',
              {
                model: 'mock-model',
                messages: [{ role: 'user', content: `turn ${at}` }],
                logprobs: true,
                return_token_ids: true,
                cache_salt: '3',
              },
              headers,
            )
          : await trainer.post(
              '/inference/v1/generate',
              { model: 'mock-model', token_ids: [at], sampling_params: {}, cache_salt: '3' },
              headers,
            );
      expect(answer.status).toBe(200);
      const [choice] = answer.json['choices'];
      expect(choice.token_ids).toHaveLength(6);
      workers.set(
        session,
        (workers.get(session) ?? new Set()).add(answer.headers['x-smg-routed-worker-id']),
      );
    }
    expect([...workers.values()].map(({ size }) => size)).toEqual([1, 1, 1, 1]);
    const sent = fleet.engines.flatMap((engine) => [
      ...engine.requestsTo('/v1/chat/completions'),
      ...engine.requestsTo('/inference/v1/generate'),
    ]);
    expect(sent.map((request) => request.jsonObject()?.['cache_salt'])).toEqual(
      Array(16).fill('3'),
    );
    expect((await trainer.post('/finish_session?session_id=trajectory-1')).status).toBe(200);
  });

  it('the rank it names in a header reaches the engine', async () => {
    await fleet.trainer.post(
      '/v1/chat/completions',
      { model: 'mock-model', messages: [{ role: 'user', content: 'x' }] },
      { 'X-data-parallel-rank': '3' },
    );
    const [sent] = fleet.engines.flatMap((engine) => engine.requestsTo('/v1/chat/completions'));
    expect(sent?.values('x-data-parallel-rank')).toEqual(['3']);
  });

  it('an update under load: pause, load, resume; nothing fails, the version is told', async () => {
    const { trainer, rl } = fleet;
    await rl.setFleetVersion('1', 'engine=vllm');
    let isOver = false;
    const answers: Answer[] = [];
    const client = new Trainer(fleet.gateway.url);
    const lanes = Array.from({ length: 6 }, async (_, lane) => {
      while (!isOver) {
        const body = { model: 'mock-model', token_ids: [lane], sampling_params: {} };
        const headers = { 'X-Session-ID': `t-${lane}` };
        answers.push(await client.post('/inference/v1/generate', body, headers));
      }
    });
    for (const step of [2, 3]) {
      for (const [path, body] of [
        ['/pause?mode=keep&clear_cache=false', undefined],
        ['/update_weights', { weight_dir: `/broadcasts/step_${step}` }],
      ] as const) {
        const answer = await trainer.post(path, body);
        expect([path, isOk(answer), answer.json['succeeded']]).toEqual([path, true, 2]);
      }
      // The call names a folder and no version.
      await rl.setFleetVersion(String(step), 'engine=vllm');
      expect((await trainer.post('/resume')).json).toMatchObject({ succeeded: 2 });
    }
    isOver = true;
    await Promise.all(lanes);
    client.close();
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const last = await trainer.post('/inference/v1/generate', {
      model: 'mock-model',
      token_ids: [1],
      sampling_params: {},
    });
    expect(last.headers['x-smg-weight-version']).toBe('3');
    for (const engine of fleet.engines) {
      expect(engine.requestsTo('/update_weights').map((request) => request.json())).toEqual([
        { weight_dir: '/broadcasts/step_2' },
        { weight_dir: '/broadcasts/step_3' },
      ]);
    }
  });

  it('an update that one engine failed has failed; its next try goes to all again', async () => {
    fleet.engine(1).behave({ route: '/update_weights', status: 500, times: 1 });
    const answer = await fleet.trainer.post('/update_weights', { weight_dir: '/w' });
    expect([answer.status, answer.json['succeeded']]).toEqual([200, 2]);
    expect(fleet.trainer.attempts).toEqual([500, 200]);
    expect(fleet.engines.map((engine) => engine.requestsTo('/update_weights').length)).toEqual([
      2, 2,
    ]);
  });

  it('an adapter is loaded on every engine', async () => {
    for (const engine of fleet.engines) {
      engine.behave({ route: '/load_lora_adapter', body: { status: 'ok' } });
    }
    const body = { lora_name: 'r8', lora_path: '/adapters/r8' };
    const answer = await fleet.trainer.post('/load_lora_adapter', body);
    expect(answer.json).toMatchObject({ total: 2, succeeded: 2 });
  });

  describeUnsupported(
    () => fleet.gateway.url,
    [
      {
        what: 'setting up the NCCL broadcast through the gateway',
        why: 'each engine wants a rank offset of its own; where none has the route, prime-rl goes on after a 404',
        method: 'POST',
        path: '/init_broadcaster',
        body: { host: 'h', port: 1, rank_offset: 0 },
        status: 404,
      },
    ],
    () => textOf('docs/frameworks/prime-rl.md'),
  );
});
