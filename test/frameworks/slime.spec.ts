import { type MockEngine } from '@smg/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from '../contract/support/pages';
import { type Answer } from '../support/http';
import { until } from '../support/until';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { describeUnsupported } from './support/not-supported';
import { isOk, Trainer, type Persistence } from './support/trainer';

// slime over its own SGLang engines: they register themselves, rollouts go to the router, refits to the engines.

/** Its HTTP helper takes any failure for one that passes: 60 calls, a second apart. */
const STUBBORN: Persistence = { tries: 60, pauseMs: 50, takes: isOk };

interface Sample {
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
  readonly weightVersions: readonly string[];
  readonly status: 'completed' | 'truncated' | 'aborted';
}

/** What it makes of an answer of `/generate`. */
function sampleOf(answer: Answer): Sample {
  const meta = answer.json['meta_info'];
  const pairs: readonly [number, number][] = meta.output_token_logprobs ?? [];
  const statuses = { length: 'truncated', abort: 'aborted', stop: 'completed' } as const;
  return {
    tokens: pairs.map(([, token]) => token),
    logprobs: pairs.map(([logprob]) => logprob),
    weightVersions: meta.weight_version === undefined ? [] : [String(meta.weight_version)],
    status: statuses[meta.finish_reason.type as keyof typeof statuses],
  };
}

const rollout = (more: object = {}): object => ({
  input_ids: [1, 2, 3],
  sampling_params: { temperature: 0.8, top_p: 1, max_new_tokens: 64, skip_special_tokens: false },
  return_logprob: true,
  ...more,
});

const register = (trainer: Trainer, { url }: MockEngine): Promise<Answer> =>
  trainer.post('/workers', { url, worker_type: 'regular' });

/** Engines come up by themselves; it asks the router for nothing more before it rolls out. */
async function registerAll({ trainer, engines }: Fleet): Promise<void> {
  for (const engine of engines) await register(trainer, engine);
  await trainer.poll('/workers', ({ json }) => json['total'] === engines.length);
}

describe('slime', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({ persistence: STUBBORN, config: { retry: PATIENT } });
  });
  afterEach(() => fleet.stop());

  it('registers its engines, and finds them again by the URL it gave', async () => {
    const { trainer, engines } = fleet;
    await registerAll(fleet);
    const { workers } = (await trainer.get('/workers')).json;
    expect(workers.map(({ url }: { url: string }) => url).sort()).toEqual(
      engines.map(({ url }) => url).sort(),
    );
    const worker = workers.find(({ url }: { url: string }) => url === fleet.engine(0).url);
    expect(isOk(await trainer.ask(`/workers/${worker.id}`, { method: 'DELETE' }))).toBe(true);
    await trainer.poll('/workers', ({ json }) => json['total'] === 1);
    expect(new Set(trainer.attempts)).not.toContain(503);
  });

  it('an engine that registers twice is told so, and is there once', async () => {
    const { trainer } = fleet;
    await register(trainer, fleet.engine(0));
    const again = await register(new Trainer(fleet.gateway.url), fleet.engine(0));
    expect([again.status, again.json['code']]).toEqual([409, 'WORKER_ALREADY_EXISTS']);
    await trainer.poll('/workers', ({ json }) => json['total'] === 1);
    expect((await trainer.post(`/add_worker?url=${fleet.engine(0).url}`)).status).toBe(200);
    expect((await trainer.get('/workers')).json['total']).toBe(1);
  });

  it('recovers an engine: removed, started anew, registered at the same URL while it drains', async () => {
    await fleet.stop();
    fleet = await startFleet({
      persistence: STUBBORN,
      config: { retry: PATIENT, health: { drainSettleSecs: 1 }, rl: { enabled: true } },
    });
    await registerAll(fleet);
    const { trainer, rl } = fleet;
    await rl.setFleetVersion('7', 'engine=sglang');
    const [alive, dead] = [fleet.engine(0), fleet.engine(1)];
    const { id } = await rl.row(dead);
    dead.crash();
    expect(isOk(await trainer.ask(`/workers/${id as string}`, { method: 'DELETE' }))).toBe(true);
    await dead.start();
    expect((await register(new Trainer(trainer.url), dead)).status).toBe(202);
    await until('both are ready', async () => {
      const { workers } = (await trainer.get('/workers')).json;
      return (
        workers.length === 2 &&
        workers.every(({ status }: { status: string }) => status === 'ready')
      );
    });
    // It came back with the weights it was started with.
    expect(await rl.row(dead)).toMatchObject({ weight_version: null, control: 'active' });
    const latest = { 'x-smg-version-policy': 'latest-only' };
    for (let at = 0; at < 4; at += 1) {
      const { headers } = await trainer.post('/generate', rollout(), latest);
      expect(headers['x-smg-routed-worker-id']).toBe(alive.url);
    }
    const answer = await rl.call(dead, 'update_weights_from_disk', {
      body: { model_path: '/w', weight_version: '7' },
    });
    expect(answer.status).toBe(200);
    const seen = new Set<unknown>();
    for (let at = 0; at < 8; at += 1) {
      const { headers } = await trainer.post('/generate', rollout(), latest);
      seen.add(headers['x-smg-routed-worker-id']);
    }
    expect(seen.size).toBe(2);
  });

  it('reads tokens, logprobs, finish reason and version of a rollout', async () => {
    fleet.engine(0).weightVersion = '3';
    fleet.engine(1).weightVersion = '3';
    await registerAll(fleet);
    const answer = await fleet.trainer.post('/generate', rollout());
    const sample = sampleOf(answer);
    expect(sample).toMatchObject({ status: 'completed', weightVersions: ['3'] });
    expect(sample.tokens).toHaveLength(4);
    expect(sample.tokens).toEqual(answer.json['output_ids']);
    expect(sample.logprobs.every((logprob) => logprob <= 0)).toBe(true);
    const short = rollout({ sampling_params: { max_new_tokens: 2 } });
    expect(sampleOf(await fleet.trainer.post('/generate', short)).status).toBe('truncated');
  });

  it('its body reaches the engine byte for byte, what the gateway does not know included', async () => {
    await registerAll(fleet);
    const body =
      '{"input_ids": [1, 2], "sampling_params": {"max_new_tokens": 1,"sampling_seed":9007199254740993}, ' +
      '"return_logprob": true, "return_routed_experts": true, "image_data":["data:image/png;base64,AA=="], "lora_path":null}';
    await fleet.trainer.post('/generate', body);
    const sent = fleet.engines.flatMap((engine) => engine.requestsTo('/generate'));
    expect(sent.map((request) => request.body.toString())).toEqual([body]);
  });

  it('streams are cumulative, and end in the whole answer', async () => {
    await registerAll(fleet);
    const answer = await fleet.trainer.post('/generate', rollout({ stream: true }));
    expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
    const events = answer.text.split('\n\n').filter((event) => event.startsWith('data: '));
    expect(events.at(-1)).toBe('data: [DONE]');
    const parts = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)));
    for (const [at, part] of parts.entries()) {
      if (at > 0) expect(part.text.startsWith(parts[at - 1].text)).toBe(true);
    }
    expect(parts.at(-1).meta_info.finish_reason).toEqual({ type: 'stop', matched: 2 });
    expect(parts.at(-1).output_ids).toHaveLength(4);
  });

  it('ends a rollout: asks the router for the engines, aborts each, waits until they are empty', async () => {
    await fleet.stop();
    fleet = await startFleet({
      persistence: STUBBORN,
      engine: { tokens: 1_000, tokenLatencyMs: 20 },
    });
    await registerAll(fleet);
    const { trainer, engines } = fleet;
    await until('both are ready', async () => {
      const { workers } = (await trainer.get('/workers')).json;
      return workers.every(({ status }: { status: string }) => status === 'ready');
    });
    const running = Array.from({ length: 6 }, () =>
      trainer.post('/generate', rollout({ sampling_params: {} })),
    );
    await until('they run', () => engines.every(({ state }) => state.running.size === 3));
    const { workers } = (await trainer.get('/workers')).json;
    for (const { url } of workers) {
      expect((await trainer.post(`${url}/abort_request`, { abort_all: true })).status).toBe(200);
      await trainer.poll(`${url}/v1/loads?include=core`, ({ json }) => json['num_reqs'] === 0);
    }
    for (const answer of await Promise.all(running)) {
      expect([answer.status, sampleOf(answer).status]).toEqual([200, 'aborted']);
    }
  });

  it('an agent aborts one of its requests at the router, by rid', async () => {
    await fleet.stop();
    fleet = await startFleet({
      persistence: STUBBORN,
      engine: { tokens: 500, tokenLatencyMs: 10 },
    });
    await registerAll(fleet);
    const { trainer, engines } = fleet;
    const one = trainer.post('/generate', rollout({ rid: 'agent-1', sampling_params: {} }));
    const other = trainer.post('/generate', rollout({ rid: 'agent-2', sampling_params: {} }));
    await until('both run', () => engines.flatMap(({ state }) => [...state.running]).length === 2);
    expect((await trainer.post('/abort_request', { rid: 'agent-1' })).status).toBe(200);
    expect(sampleOf(await one).status).toBe('aborted');
    expect(engines.flatMap(({ state }) => [...state.running].map(({ rid }) => rid))).toEqual([
      'agent-2',
    ]);
    // A rid nobody has is no mistake.
    expect((await trainer.post('/abort_request', { rid: 'agent-9' })).status).toBe(200);
    for (const engine of engines) engine.state.abort(() => true);
    await other;
  });

  it('sessions stay with their engine under consistent hashing', async () => {
    await fleet.stop();
    fleet = await startFleet({
      persistence: STUBBORN,
      config: { routing: { policy: 'consistent_hashing' } },
    });
    await registerAll(fleet);
    const seen = new Map<string, Set<unknown>>();
    for (let turn = 0; turn < 6; turn += 1) {
      for (let session = 0; session < 8; session += 1) {
        const key = `session-${session}`;
        const answer = await fleet.trainer.post('/generate', rollout(), {
          'X-SMG-Routing-Key': key,
        });
        seen.set(key, (seen.get(key) ?? new Set()).add(answer.headers['x-smg-routed-worker-id']));
      }
    }
    expect([...seen.values()].map(({ size }) => size)).toEqual(Array(8).fill(1));
    expect(new Set([...seen.values()].flatMap((workers) => [...workers])).size).toBe(2);
  });

  it('an engine that dies costs nobody a rollout', async () => {
    await registerAll(fleet);
    fleet.engine(1).crash();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => fleet.trainer.post('/generate', rollout())),
    );
    expect(answers.map((answer) => sampleOf(answer).status)).toEqual(Array(10).fill('completed'));
    expect(fleet.trainer.attempts.filter((it) => it === 'no answer')).toEqual([]);
  });
});

describe('slime refits', () => {
  /** Its order, on one engine: pause, flush until it is let, buckets with a version each, continue. */
  async function refit(
    call: (method: string, path: string, body?: object) => Promise<number>,
    version: number,
  ): Promise<void> {
    expect(await call('POST', 'pause_generation', {})).toBe(200);
    for (let at = 0; at < 60 && (await call('GET', 'flush_cache')) !== 200; at += 1)
      await sleep(20);
    for (const bucket of ['a', 'b']) {
      const body = { names: [bucket], weight_version: String(version), flush_cache: false };
      expect(await call('POST', 'update_weights_from_distributed', body)).toBe(200);
    }
    expect(await call('POST', 'continue_generation', {})).toBe(200);
  }

  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({
      persistence: STUBBORN,
      isKnown: true,
      engine: { tokens: 6, tokenLatencyMs: 5 },
      config: { rl: { enabled: true, versionPolicy: 'latest-only' }, retry: PATIENT },
    });
  });
  afterEach(() => fleet.stop());

  async function underLoad(work: () => Promise<void>): Promise<readonly Answer[]> {
    let isOver = false;
    const answers: Answer[] = [];
    const lanes = Array.from({ length: 8 }, async () => {
      while (!isOver) answers.push(await fleet.trainer.post('/generate', rollout()));
    });
    await until('rollouts run', () => answers.length > 10);
    await work();
    const target = answers.length + 20;
    await until('rollouts go on', () => answers.length > target);
    isOver = true;
    await Promise.all(lanes);
    return answers;
  }

  it('through the gateway: nothing fails or has to be tried again, every answer is stamped', async () => {
    await fleet.rl.setFleetVersion('1', 'engine=sglang');
    const answers = await underLoad(async () => {
      for (const engine of fleet.engines) {
        const id = await fleet.rl.id(engine);
        await refit(async (method, path, body) => {
          const target = `/v1/rl/workers/${id}/engine/${path}`;
          return (await new Trainer(fleet.gateway.url).ask(target, { method, body })).status;
        }, 2);
      }
    });
    expect(new Set(fleet.trainer.attempts)).toEqual(new Set([200]));
    expect(answers.map(({ headers }) => headers['x-smg-weight-version'])).not.toContain(undefined);
    const after = sampleOf(await fleet.trainer.post('/generate', rollout()));
    expect(after.weightVersions).toEqual(['2']);
  });

  it('past the gateway: samples still tell the truth, and a write tells the gateway', async () => {
    await underLoad(async () => {
      for (const engine of fleet.engines) {
        await refit(async (method, path, body) => {
          const target = `${engine.url}/${path}`;
          return (await new Trainer(engine.url).ask(target, { method, body })).status;
        }, 2);
      }
    });
    expect(new Set(fleet.trainer.attempts)).toEqual(new Set([200]));
    const before = await fleet.trainer.post('/generate', rollout());
    expect(sampleOf(before).weightVersions).toEqual(['2']);
    expect(before.headers['x-smg-weight-version']).toBeUndefined();
    expect((await fleet.rl.setFleetVersion('2', 'engine=sglang')).status).toBe(200);
    const stamped = await fleet.trainer.post('/generate', rollout());
    expect(stamped.headers['x-smg-weight-version']).toBe('2');
  });

  it('a recovered engine is checked by what it says itself', async () => {
    const id = await fleet.rl.id(fleet.engine(0));
    fleet.engine(0).weightVersion = '7';
    const answer = await fleet.trainer.get(`/v1/rl/workers/${id}/engine/model_info`);
    expect(answer.json['body'].weight_version).toBe('7');
    for (const path of ['weights_checker', 'post_process_weights', 'pull_weights']) {
      fleet.engine(0).behave({ route: `/${path}`, body: { success: true } });
      const body = { action: 'checksum', target_version: 7 };
      const called = await fleet.trainer.post(`/v1/rl/workers/${id}/engine/${path}`, body);
      expect([called.status, called.json['body']]).toEqual([200, { success: true }]);
      expect(fleet.engine(0).requestsTo(`/${path}`).at(-1)?.json()).toEqual(body);
    }
  });
});

describe('slime up to 0.2', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet({ persistence: STUBBORN });
  });
  afterAll(() => fleet.stop());

  it('adds, lists and removes engines by their URL', async () => {
    const { trainer, engines } = fleet;
    for (const { url } of engines) {
      expect((await trainer.post(`/add_worker?url=${url}`)).status).toBe(200);
    }
    const urls = (): Promise<string[]> =>
      trainer.get('/list_workers').then(({ json }) => [...(json['urls'] as string[])].sort());
    expect(await urls()).toEqual(engines.map(({ url }) => url).sort());
    // Added means routable: no rollout is turned away.
    expect((await new Trainer(fleet.gateway.url).post('/generate', rollout())).status).toBe(200);
    const [first] = engines;
    expect((await trainer.post(`/remove_worker?url=${first!.url}`)).status).toBe(200);
    await until('it is gone', async () => (await urls()).length === 1);
  });

  describeUnsupported(
    () => fleet.gateway.url,
    [
      {
        what: 'text of the radix tree middleware of SlimeRouter',
        why: 'it was a cache of that router, removed there as well',
        method: 'POST',
        path: '/retrieve_from_text',
        body: { text: 'x' },
        status: 404,
      },
    ],
    () => textOf('docs/frameworks/slime.md'),
  );
});
