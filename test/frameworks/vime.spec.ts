import { type Answer } from '../support/http';
import { until } from '../support/until';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { isOk, Trainer, type Persistence } from './support/trainer';

// vime: vLLM engines that register themselves, token ids in and out, control past the router.

const STUBBORN: Persistence = { tries: 60, pauseMs: 20, takes: isOk };

describe('vime', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({
      kind: 'vllm',
      persistence: STUBBORN,
      config: {
        rl: { enabled: true },
        retry: PATIENT,
        routing: { policy: 'consistent_hashing', routingKeyHeaders: ['x-session-id'] },
      },
    });
    for (const { url } of fleet.engines) {
      await fleet.trainer.post('/workers', { url, worker_type: 'regular' });
    }
    await fleet.trainer.poll('/readiness', ({ json }) => json['healthy_workers'] === 2);
  });
  afterEach(() => fleet.stop());

  const rollout = (ids: readonly number[], session = 's'): Promise<Answer> =>
    fleet.trainer.post(
      '/inference/v1/generate',
      { model: 'mock-model', token_ids: ids, sampling_params: { max_tokens: 16, logprobs: 1 } },
      { 'x-session-id': session },
    );

  it('registers, lists, and removes by the encoded URL', async () => {
    const { trainer } = fleet;
    const { workers } = (await trainer.get('/workers')).json;
    expect(workers.map(({ url }: { url: string }) => url).sort()).toEqual(
      fleet.engines.map(({ url }) => url).sort(),
    );
    const path = `/workers/${encodeURIComponent(fleet.engine(0).url)}`;
    expect(isOk(await trainer.ask(path, { method: 'DELETE' }))).toBe(true);
    await trainer.poll('/workers', ({ json }) => json['total'] === 1);
    await until('it is unknown', async () => {
      const again = await new Trainer(trainer.url).ask(path, { method: 'DELETE' });
      return again.status === 404;
    });
  });

  it('renders a chat, then rolls out from its ids, on one engine', async () => {
    const rendered = await fleet.trainer.post('/v1/chat/completions/render', {
      model: 'mock-model',
      messages: [{ role: 'user', content: 'a b c' }],
    });
    const ids = rendered.json['token_ids'] as number[];
    const workers = new Set<unknown>();
    for (let turn = 0; turn < 5; turn += 1) {
      const { json, headers } = await rollout(ids, 'episode-1');
      const [choice] = json['choices'];
      expect(choice.token_ids).toHaveLength(choice.logprobs.content.length);
      ids.push(...choice.token_ids);
      workers.add(headers['x-smg-routed-worker-id']);
    }
    expect(workers.size).toBe(1);
  });

  it('a refit from disk past the router: version and pause are told, nothing is lost', async () => {
    const { engines, trainer, rl } = fleet;
    await rl.setFleetControl('paused', 'engine=vllm');
    const waiting = Array.from({ length: 6 }, (_, at) => rollout([at], `s${at}`));
    for (const { url } of engines) {
      for (const [path, body] of [
        ['/pause?mode=keep&clear_cache=false', undefined],
        ['/collective_rpc', { method: 'reload_weights', kwargs: { weights_path: '/w/2' } }],
        ['/reset_prefix_cache?reset_running_requests=true&reset_external=false', undefined],
        ['/resume', undefined],
      ] as const) {
        expect([path, isOk(await trainer.post(url + path, body))]).toEqual([path, true]);
      }
    }
    await rl.setFleetVersion('2', 'engine=vllm');
    await rl.setFleetControl('active', 'engine=vllm');
    for (const answer of await Promise.all(waiting)) {
      expect([answer.status, answer.headers['x-smg-weight-version']]).toEqual([200, '2']);
    }
  });

  it('the same through the gateway, where it sees the pause itself', async () => {
    const { rl } = fleet;
    const selector = 'engine=vllm';
    for (const [path, query, body] of [
      ['pause', '&mode=keep&clear_cache=false', undefined],
      ['sleep', '&level=2', undefined],
      ['wake_up', '&tags=weights', undefined],
      ['start_weight_update', '', {}],
      ['update_weights', '', { update_info: {} }],
      ['finish_weight_update', '', {}],
      ['wake_up', '&tags=weights&tags=kv_cache', undefined],
    ] as const) {
      const answer = await rl.fanout(path, selector, { body }, query);
      expect([path, answer.status, answer.json['succeeded']]).toEqual([path, 200, 2]);
      expect((await rl.rows()).map(({ control }) => control as unknown)).not.toContain('active');
    }
    await rl.setFleetVersion('3', selector);
    expect((await rl.fanout('resume', selector, { body: undefined })).status).toBe(200);
    const [woken] = fleet.engine(0).requestsTo('/wake_up').slice(-1);
    expect(woken?.path).toBe('/wake_up?tags=weights&tags=kv_cache');
    expect((await rollout([1])).headers['x-smg-weight-version']).toBe('3');
  });

  it('aborts what runs on an engine, and reads its own state', async () => {
    const { trainer } = fleet;
    for (const { url } of fleet.engines) {
      expect((await trainer.post(`${url}/abort_requests`, {})).json).toMatchObject({ aborted: 0 });
      expect((await trainer.get(`${url}/get_world_size`)).json).toEqual({ world_size: 1 });
    }
  });
});
