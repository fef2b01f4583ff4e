import { MockEngine } from '@smg/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from '../contract/support/pages';
import { type Answer } from '../support/http';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { describeUnsupported } from './support/not-supported';
import { Trainer, type Persistence } from './support/trainer';

const FEW = { maxAttempts: 2, initialBackoffMs: 5, maxBackoffMs: 10 } as const;

/** Statuses NeMo-Gym tries again. 429 and 504 let it try once more than before each time, for ever. */
const RETRIED = [429, 500, 502, 503, 504, 520];

interface Listed {
  readonly id: string;
  readonly url: string;
}

describe('NeMo-RL, SGLang router', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({ config: { retry: PATIENT } });
  });
  afterEach(() => fleet.stop());

  it('registers, polls the list until its own URL is in it, and deletes by id', async () => {
    const { trainer, engines } = fleet;
    for (const { url } of engines) {
      const answer = await trainer.post('/workers', { url, worker_type: 'regular' });
      expect(answer.status).toBeGreaterThanOrEqual(200);
      expect(answer.status).toBeLessThan(300);
      // It gives up after 30 s.
      await trainer.poll('/workers', ({ json }) =>
        (json['workers'] as Listed[]).some((worker) => worker.url === url),
      );
    }
    const { workers } = (await trainer.get('/workers')).json as unknown as { workers: Listed[] };
    const mine = workers.find(({ url }) => url === fleet.engine(1).url);
    const gone = await trainer.ask(`/workers/${mine?.id ?? ''}`, { method: 'DELETE' });
    expect(gone.status).toBeLessThan(300);
    await trainer.poll('/workers', ({ json }) => json['total'] === 1);
  });

  it.each([
    ['an upper-case host', (port: number) => `http://LOCALHOST:${port}`],
    ['a slash at its end', (port: number) => `http://127.0.0.1:${port}/`],
  ])('a URL with %s is listed in its canonical form', async (_, written) => {
    const url = written(fleet.engine(0).port);
    const answer = await fleet.trainer.post('/workers', { url, worker_type: 'regular' });
    // Compare with this, not with what was sent.
    const { json } = await fleet.trainer.poll('/workers', ({ json: list }) => list['total'] === 1);
    expect(json['workers'][0].url).toBe(answer.json['url']);
    expect(json['workers'][0].url).toBe(url.toLowerCase().replace(/\/$/, ''));
  });
});

describe('NeMo-RL, external vLLM router', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({
      kind: 'vllm',
      config: { workers: { registrationWaitSecs: 30, startupCheckIntervalSecs: 1 }, retry: FEW },
    });
  });
  afterEach(() => fleet.stop());

  const chat = (): object => ({
    model: 'mock-model',
    messages: [{ role: 'user', content: 'x' }],
  });

  it('registration blocks until the worker is routable: the first request finds it', async () => {
    const { trainer } = fleet;
    const slow = fleet.engine(0);
    slow.behave({ route: '/health', status: 503, times: 1 });
    const answer = await trainer.post('/workers', { url: slow.url, worker_type: 'regular' });
    expect(answer.status).toBe(200);
    const first = await new Trainer(trainer.url).post('/v1/chat/completions', chat());
    expect([first.status, first.headers['x-smg-routed-worker-id']]).toEqual([200, slow.url]);
  });

  it('one that does not come up in time is accepted, not routable: 202', async () => {
    const { trainer } = fleet;
    fleet.engine(0).behave({ route: '/health', status: 503 });
    const startedAt = performance.now();
    const answer = await trainer.post(
      '/workers',
      { url: fleet.engine(0).url, worker_type: 'regular' },
      { prefer: 'wait=1' },
    );
    expect(answer.status).toBe(202);
    expect(answer.headers['preference-applied']).toBe('wait=1');
    expect(performance.now() - startedAt).toBeGreaterThan(900);
  });

  it('engine health is asked for at the engine, and the gateway has its own', async () => {
    expect((await fleet.trainer.get(`${fleet.engine(0).url}/health`)).status).toBe(200);
    expect((await fleet.trainer.get('/health')).status).toBe(200);
  });
});

describe('NeMo-Gym behind its statuses', () => {
  const PROFILE = { noEligibleStatus: 409, backendFailedStatus: 500 } as const;
  /** It tries as often as its ceiling allows; statuses that raise it would do so for ever. */
  const gym = (): Persistence => ({
    tries: 4,
    pauseMs: 5,
    takes: ({ status }) => !RETRIED.includes(status),
  });
  let fleet: Fleet;
  const ask = (trainer = fleet.trainer): Promise<Answer> =>
    trainer.post('/v1/chat/completions', {
      model: 'mock-model',
      messages: [{ role: 'user', content: 'x' }],
    });
  beforeEach(async () => {
    fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      persistence: gym(),
      config: {
        requests: { ...PROFILE, timeoutSecs: 1 },
        retry: { ...FEW, maxAttempts: 1 },
        rl: { enabled: true },
      },
    });
  });
  afterEach(() => fleet.stop());

  it('nobody may serve: 409, once; the rollout ends', async () => {
    await fleet.rl.setFleetControl('paused', 'engine=vllm');
    const answer = await ask();
    expect(answer.status).toBe(409);
    expect(answer.json['error'].code).toBe('no_available_workers');
    expect(fleet.trainer.attempts).toEqual([409]);
  });

  it.each([
    ['resets', { cut: { how: 'reset', at: 'request' } }],
    ['hangs', { cut: { how: 'hang', at: 'request' } }],
  ] as const)('a backend that %s: 500, which Gym bounds; never 504', async (_, behaviour) => {
    for (const engine of fleet.engines)
      engine.behave({ route: '/v1/chat/completions', ...behaviour });
    await expect(ask()).rejects.toThrow(/500/);
    expect(fleet.trainer.attempts).toEqual([500, 500, 500, 500]);
    for (const engine of fleet.engines) engine.behaveNormally();
    expect((await ask()).status).toBe(200);
  });

  it('what an engine itself answers is not changed', async () => {
    const plain = new Trainer(fleet.gateway.url);
    for (const status of [400, 429, 503, 504]) {
      for (const engine of fleet.engines) {
        engine.behaveNormally();
        engine.behave({ route: '/v1/chat/completions', status, body: { error: { code: status } } });
      }
      const answer = await ask(plain);
      expect([answer.status, answer.json]).toEqual([status, { error: { code: status } }]);
    }
    plain.close();
  });

  it('without the profile the statuses are those of every client', async () => {
    await fleet.stop();
    fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      config: { rl: { enabled: true }, retry: { ...FEW, maxAttempts: 1 } },
    });
    await fleet.rl.setFleetControl('paused', 'engine=vllm');
    expect((await ask()).status).toBe(503);
  });

  it('hundreds at once are not held back by a pool', async () => {
    await fleet.stop();
    fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      // Longer than it takes to send them all: then the peak is what was let through, not how fast.
      engine: { latencyMs: 3_000, tokens: 1, keepRequests: 0 },
    });
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 300 }, () => ask()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const peak = fleet.engines.reduce((sum, { counters }) => sum + counters.peak, 0);
    expect(peak).toBeGreaterThan(250);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('an engine that was dead gets nothing before its refit', async () => {
    const [alive, dead] = [fleet.engine(0), fleet.engine(1)];
    await fleet.rl.setFleetVersion('4', 'engine=vllm');
    const { id } = await fleet.rl.row(dead);
    await fleet.trainer.ask(`/workers/${id as string}`, { method: 'DELETE' });
    await fleet.trainer.poll('/workers', ({ json }) => json['total'] === 1, 10);
    const back = await new MockEngine({ kind: 'vllm' }).start();
    await fleet.trainer.post('/workers', { url: back.url }, { prefer: 'wait=20' });
    const latest = { 'x-smg-version-policy': 'latest-only' };
    const body = { model: 'mock-model', prompt: 'x' };
    const workers = async (): Promise<Set<unknown>> => {
      const seen = new Set<unknown>();
      for (let at = 0; at < 6; at += 1) {
        const { headers } = await fleet.trainer.post('/v1/completions', body, latest);
        seen.add(headers['x-smg-routed-worker-id']);
      }
      return seen;
    };
    expect(await workers()).toEqual(new Set([alive.url]));
    await fleet.rl.setVersion(back, '4');
    await sleep(0);
    expect(await workers()).toEqual(new Set([alive.url, back.url]));
    await back.stop();
  });

  describeUnsupported(
    () => fleet.gateway.url,
    [
      {
        what: 'the engine routes of its Dynamo mode',
        why: 'they belong to the system server of a Dynamo worker',
        method: 'POST',
        path: '/engine/pause_generation',
        body: {},
        status: 404,
      },
    ],
    () => textOf('docs/frameworks/nemo-rl.md'),
  );
});
