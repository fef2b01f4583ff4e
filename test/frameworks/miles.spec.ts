import { until } from '../support/until';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { isOk, Trainer, type Persistence } from './support/trainer';

// miles: slime's calls, and a few of its own at the router.

const STUBBORN: Persistence = { tries: 60, pauseMs: 20, takes: isOk };

describe('miles', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({
      persistence: STUBBORN,
      engine: { tokens: 200, tokenLatencyMs: 5 },
      config: { rl: { enabled: true, routerVerbs: true }, retry: PATIENT },
    });
    const { trainer, engines } = fleet;
    for (const { url } of engines) {
      await trainer.post('/workers', { url, worker_type: 'regular' });
    }
    await trainer.poll('/readiness', ({ json }) => json['healthy_workers'] === 2);
  });
  afterEach(() => fleet.stop());

  it('removes an engine by its quoted URL', async () => {
    const { trainer } = fleet;
    const quoted = encodeURIComponent(fleet.engine(0).url);
    expect(isOk(await trainer.ask(`/workers/${quoted}`, { method: 'DELETE' }))).toBe(true);
    await trainer.poll('/workers', ({ json }) => json['total'] === 1);
    const unknown = encodeURIComponent('http://127.0.0.1:1');
    const none = await new Trainer(trainer.url).ask(`/workers/${unknown}`, { method: 'DELETE' });
    expect(none.status).toBe(404);
  });

  it.each(['GET', 'POST'])('%s /flush_cache at the router flushes every engine', async (method) => {
    expect((await fleet.trainer.ask('/flush_cache', { method })).status).toBe(200);
    expect(fleet.engines.map(({ state }) => state.cacheFlushes)).toEqual([1, 1]);
  });

  it('scores a prompt: flush at the router, then logprobs of the input', async () => {
    await fleet.trainer.post('/flush_cache');
    const body = {
      input_ids: [1, 2, 3],
      sampling_params: { max_new_tokens: 0, temperature: 0 },
      return_logprob: true,
      logprob_start_len: 0,
    };
    await fleet.trainer.post('/generate', body);
    const sent = fleet.engines.flatMap((engine) => engine.requestsTo('/generate'));
    expect(sent.map((request) => request.json())).toEqual([body]);
  });

  it('aborts the requests of one episode by the prefix of their rids', async () => {
    const { trainer, engines } = fleet;
    const rids = ['ep1_t0', 'ep1_t1', 'ep2_t0'];
    const asked = rids.map((rid) => trainer.post('/generate', { text: rid, rid }));
    const running = (): string[] =>
      engines.flatMap(({ state }) => [...state.running].map(({ rid }) => rid)).sort();
    await until('they run', () => running().length === 3);
    expect((await trainer.post('/abort_request', { rid: 'ep1_', prefix: true })).status).toBe(200);
    await until('two have ended', () => running().length === 1);
    expect(running()).toEqual(['ep2_t0']);
    expect((await trainer.post('/abort_request', { abort_all: true })).status).toBe(200);
    const finishes = (await Promise.all(asked)).map(
      ({ json }) => json['meta_info'].finish_reason.type as string,
    );
    expect(finishes).toEqual(['abort', 'abort', 'abort']);
  });

  it('pauses with retract and names versions without aborting', async () => {
    const { trainer, engines } = fleet;
    const running = trainer.post('/generate', { text: 'x' });
    await until('it runs', () => engines.some(({ state }) => state.running.size === 1));
    expect((await trainer.post('/pause_generation', { mode: 'retract' })).status).toBe(200);
    const named = { new_version: '5', abort_all_requests: false };
    expect((await trainer.post('/update_weight_version', named)).status).toBe(200);
    expect((await trainer.post('/continue_generation', {})).status).toBe(200);
    for (const engine of engines) {
      expect(engine.requestsTo('/pause_generation').at(-1)?.json()).toEqual({ mode: 'retract' });
      expect(engine.requestsTo('/update_weight_version').at(-1)?.json()).toEqual(named);
    }
    const { json, headers } = await running;
    expect(json['meta_info'].finish_reason.type).toBe('stop');
    expect(headers['x-smg-weight-version']).toBe('5');
    const rows = await fleet.rl.rows();
    expect(rows.map(({ weight_version, control }) => [weight_version, control])).toEqual([
      ['5', 'active'],
      ['5', 'active'],
    ]);
  });

  it('begins and ends an update of some engines by a selector', async () => {
    for (const engine of fleet.engines) {
      for (const route of ['/begin_weight_update', '/end_weight_update']) {
        engine.behave({ route, body: { success: true } });
      }
    }
    const selector = encodeURIComponent(`url=${fleet.engine(1).url}`);
    for (const path of ['begin_weight_update', 'end_weight_update']) {
      const got = await fleet.trainer.post(`/v1/rl/engine/${path}?selector=${selector}`, {
        weight_version: '6',
      });
      expect([got.status, got.json['total']]).toEqual([200, 1]);
    }
    expect(fleet.engine(0).requestsTo('/begin_weight_update')).toEqual([]);
    expect(fleet.engine(1).requestsTo('/end_weight_update')).toHaveLength(1);
    // The gateway does not know these two: the version is told.
    await fleet.rl.setVersion(fleet.engine(1), '6');
    expect(await fleet.rl.row(fleet.engine(1))).toMatchObject({ weight_version: '6' });
  });

  it('spans in its own words are spans: two of them are a mixed answer', async () => {
    await fleet.rl.setFleetVersion('2', 'engine=sglang');
    for (const keys of [
      ['abs_start', 'abs_end'],
      ['start', 'end'],
    ] as const) {
      const span = (version: string, from: number, to: number): object => ({
        version,
        [keys[0]]: from,
        [keys[1]]: to,
      });
      const generate = (spans: readonly object[]) =>
        fleet.trainer.post('/generate', {
          text: 'x',
          sampling_params: { max_new_tokens: 1 },
          mock_meta_info: { id: 'r', weight_version: '2', weight_versions: spans },
        });
      const mixed = await generate([span('1', 0, 3), span('2', 3, 8)]);
      expect(mixed.headers['x-smg-mixed-version']).toBe('true');
      expect(mixed.json['meta_info'].weight_versions).toEqual([span('1', 0, 3), span('2', 3, 8)]);
      const whole = await generate([span('2', 0, 8)]);
      expect(whole.headers['x-smg-mixed-version']).toBeUndefined();
    }
  });

  it('headers its HTTP client stumbles over come once, whatever the engine sends', async () => {
    for (const engine of fleet.engines) {
      engine.behave({
        route: '/generate',
        headers: ['server', 'uvicorn', 'date', 'Sun, 01 Mar 2026 00:00:00 GMT'],
        body: { text: 'x', meta_info: {} },
      });
    }
    const { rawHeaders } = await fleet.trainer.post('/generate', { text: 'x' });
    const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    for (const name of ['server', 'date', 'content-length', 'content-type']) {
      expect([name, names.filter((it) => it === name).length]).toEqual([name, 1]);
    }
  });

  it('its session server in front keeps a session on one engine', async () => {
    await fleet.stop();
    fleet = await startFleet({
      isKnown: true,
      config: { routing: { policy: 'consistent_hashing' } },
    });
    const workers = new Set<unknown>();
    for (let turn = 0; turn < 6; turn += 1) {
      const messages = [{ role: 'user', content: `turn ${turn}` }];
      const answer = await fleet.trainer.post(
        '/v1/chat/completions',
        { model: 'mock-model', messages, logprobs: true, return_prompt_token_ids: true },
        { 'X-SMG-Routing-Key': 'session-7' },
      );
      expect(answer.json['choices'][0].logprobs.content.length).toBe(4);
      workers.add(answer.headers['x-smg-routed-worker-id']);
    }
    expect(workers.size).toBe(1);
  });
});
