import { Agent } from 'node:http';
import { MockEngine } from '@smg/testing';
import { send, type Answer } from '../support/http';
import { startProgram, type RunningProgram } from '../support/program';
import { workersOf } from '../support/workers';
import { generate } from './support/bodies';
import { RlClient, startAll } from './support/rl';
import { sample } from './support/scrape';

/** As launch scripts of trainers have it. */
const PROFILE = [
  '--policy cache_aware --enable-rl --disable-health-check --disable-circuit-breaker',
  '--request-timeout-secs 14400 --rl-version-policy latest-only',
  '--retry-max-retries 30 --retry-initial-backoff-ms 100 --retry-max-backoff-ms 1000',
].flatMap((line) => line.split(' '));

interface Sample {
  /** Highest version an engine had confirmed when the request was sent. */
  readonly latest: number;
  readonly answer: Answer;
}

describe('the documented launch profile, as a program of its own', () => {
  const engines = Array.from(
    { length: 3 },
    () => new MockEngine({ tokens: 4, tokenLatencyMs: 2, keepRequests: 20_000 }),
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  let program: RunningProgram;
  let rl: RlClient;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(...engines);
    const urls = engines.map(({ url }) => url);
    program = await startProgram([...PROFILE, '--worker-urls', ...urls], { ready: 3 });
    rl = new RlClient(program.url);
  });
  afterAll(async () => {
    await program.kill();
    agent.destroy();
    await stop();
  });

  it('rolling refits under load: nothing fails, nothing is stale, everything is stamped', async () => {
    const selector = 'engine=sglang';
    await rl.fanout('update_weight_version', selector, { body: { new_version: '1' } });
    let latest = 1;
    let isOver = false;
    const samples: Sample[] = [];
    const lanes = Array.from({ length: 16 }, async (_, lane) => {
      for (let at = lane; !isOver; at += 1) {
        const known = latest;
        const body = generate({ text: `Task ${at % 7}. Think.`, stream: at % 2 === 0 });
        samples.push({
          latest: known,
          answer: await send(`${program.url}/generate`, { agent, body }),
        });
      }
    });
    for (let version = 2; version <= 4; version += 1) {
      for (const engine of engines) {
        const target = samples.length + 30;
        await rl.call(engine, 'pause_generation', { body: { mode: 'in_place' } });
        const weights = { model_path: '/ckpt', weight_version: String(version) };
        const refit = await rl.call(engine, 'update_weights_from_disk', { body: weights });
        expect(refit.status).toBe(200);
        latest = version;
        await rl.call(engine, 'continue_generation');
        await engine.waitUntil(() => samples.length >= target);
      }
    }
    isOver = true;
    await Promise.all(lanes);

    expect(samples.filter(({ answer }) => answer.status !== 200 || answer.aborted)).toEqual([]);
    for (const { latest: known, answer } of samples) {
      const last = answer.text.split('\n').findLast((line) => line.includes('meta_info')) ?? '';
      const spans = JSON.parse(last.replace(/^data: /, '')).meta_info.weight_versions as {
        version: string;
      }[];
      expect(Number(spans[0]?.version)).toBeGreaterThanOrEqual(known);
      expect(answer.headers['x-smg-weight-version']).toMatch(/^[1-4]$/);
    }
    for (const { requests } of engines) {
      let isPaused = false;
      for (const { route } of requests) {
        if (route === '/pause_generation') isPaused = true;
        else if (route === '/continue_generation') isPaused = false;
        else expect([route, isPaused]).not.toEqual(['/generate', true]);
      }
    }
    const { workers } = await workersOf(program.url).list();
    expect(workers.map(({ load, status }) => [load, status])).toEqual([
      [0, 'ready'],
      [0, 'ready'],
      [0, 'ready'],
    ]);
    const page = (await send(program.metricsUrl)).text;
    expect(sample(page, 'smg_rl_control_calls_total', { result: 'ok' })).toBe(3 + 3 * 3 * 3);
    const flagged = samples.filter(
      ({ answer }) => answer.headers['x-smg-mixed-version'] === 'true',
    );
    expect(sample(page, 'smg_rl_mixed_version_total')).toBe(flagged.length);
  });
});
