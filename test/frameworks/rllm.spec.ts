import { Readable } from 'node:stream';
import { until } from '../support/until';
import { open } from '../support/http';
import { PATIENT, startFleet, type Fleet } from './support/fleet';
import { isOk, type Persistence } from './support/trainer';

// rLLM's own gateway keeps sessions and traces; to it, the fleet behind this gateway is one worker.

const PROXY: Persistence = { tries: 3, pauseMs: 20, takes: isOk };

describe('rLLM', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await startFleet({
      kind: 'vllm',
      isKnown: true,
      persistence: PROXY,
      config: { rl: { enabled: true }, retry: PATIENT },
    });
  });
  afterEach(() => fleet.stop());

  /** What it adds to every request of an agent, to be taken out of the answer again. */
  const INJECTED = { logprobs: true, return_token_ids: true };
  const agent = (more: object = {}): object => ({
    model: 'mock-model',
    messages: [{ role: 'user', content: 'two words' }],
    ...INJECTED,
    ...more,
  });

  it('health is answered well within its 5 s, and 200 as long as the process lives', async () => {
    const startedAt = performance.now();
    expect((await fleet.trainer.get('/health')).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    for (const engine of fleet.engines) engine.crash();
    expect((await fleet.trainer.get('/health')).status).toBe(200);
  });

  it('a trace has ids and logprobs of prompt and answer', async () => {
    const { json } = await fleet.trainer.post('/v1/chat/completions', agent());
    const [choice] = json['choices'];
    expect(json['prompt_token_ids']).toEqual([1, 2]);
    expect(choice.token_ids).toHaveLength(4);
    const { content } = choice.logprobs;
    expect(content.map(({ token }: { token: string }) => token)).toEqual(
      choice.token_ids.map((id: number) => `token_id:${id}`),
    );
    const sent = fleet.engines.flatMap((engine) => engine.requestsTo('/v1/chat/completions'));
    expect(sent.map((request) => request.json())).toEqual([agent()]);
  });

  it('streams arrive event by event, with their end', async () => {
    const { incoming } = await open(`${fleet.gateway.url}/v1/chat/completions`, {
      body: agent({ stream: true, stream_options: { include_usage: true } }),
    });
    let text = '';
    for await (const chunk of Readable.from(incoming)) text += String(chunk);
    const events = text.split('\n\n').filter(Boolean);
    expect(events.at(-1)).toBe('data: [DONE]');
    const last = JSON.parse(events.at(-2)?.slice('data: '.length) ?? '{}');
    expect(last.usage.completion_tokens).toBe(4);
  });

  it('a version it keeps as a number is one here, too', async () => {
    await fleet.rl.setFleetVersion('12', 'engine=vllm');
    const { headers } = await fleet.trainer.post('/v1/chat/completions', agent());
    expect(Number(headers['x-smg-weight-version'])).toBe(12);
  });

  it('a worker more does not tear sessions apart', async () => {
    await fleet.stop();
    fleet = await startFleet({
      kind: 'vllm',
      engines: 4,
      config: { routing: { policy: 'consistent_hashing', routingKeyHeaders: ['x-session-id'] } },
    });
    const { trainer, engines } = fleet;
    const add = (at: number) => trainer.post('/workers', { url: engines[at]?.url });
    const place = async (): Promise<unknown[]> => {
      const places: unknown[] = [];
      for (let at = 0; at < 60; at += 1) {
        const headers = { 'X-Session-ID': `session-${at}` };
        const answer = await trainer.post('/v1/chat/completions', agent(), headers);
        places.push(answer.headers['x-smg-routed-worker-id']);
      }
      return places;
    };
    for (const at of [0, 1, 2]) await add(at);
    await trainer.poll('/readiness', ({ json }) => json['healthy_workers'] === 3);
    const before = await place();
    await add(3);
    await until('it is there', async () => {
      return (await trainer.get('/readiness')).json['healthy_workers'] === 4;
    });
    const after = await place();
    const moved = after.filter((worker, at) => worker !== before[at]);
    expect(new Set(moved)).toEqual(new Set([engines[3]?.url]));
    expect(moved.length).toBeLessThan(30);
  });
});
