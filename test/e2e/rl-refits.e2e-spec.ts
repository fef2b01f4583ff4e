import { Agent } from 'node:http';
import { MockEngine } from '@smg/testing';
import { send, type Answer } from '../support/http';
import { chat, dataOf, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { startAll, startRl, type RlGateway } from './support/rl';

/** Retries of the documented launch profile, ten times as fast. */
const PATIENT = { maxAttempts: 30, initialBackoffMs: 10, maxBackoffMs: 100 };

const KINDS = ['generate', 'stream', 'chat'] as const;
type Kind = (typeof KINDS)[number];

interface Sample {
  readonly kind: Kind;
  /** Highest version that an engine had confirmed before the request was sent. */
  readonly latest: number;
  readonly answer: Answer;
}

interface Span {
  readonly version: string;
}

/** What the engine itself says of an answer's versions; undefined for chat, which says nothing. */
function spansOf({ kind, answer }: Sample): readonly Span[] | undefined {
  if (kind === 'chat') return undefined;
  if (kind === 'generate') return answer.json['meta_info'].weight_versions;
  const events = dataOf(answer.text).filter((data) => data !== '[DONE]');
  return JSON.parse(events.at(-1) ?? '').meta_info.weight_versions;
}

interface Stamps {
  readonly version: string | undefined;
  readonly start: string | undefined;
  readonly isFlagged: boolean;
}

function stampsOf({ headers }: Answer): Stamps {
  return {
    version: headers['x-smg-weight-version'] as string | undefined,
    start: headers['x-smg-weight-version-start'] as string | undefined,
    isFlagged: headers['x-smg-mixed-version'] === 'true',
  };
}

/** Stamps, flag and freshness of one answer, held against the engine's own words. */
function check(sample: Sample, allowedLag: number): void {
  const { version, start, isFlagged } = stampsOf(sample.answer);
  expect(version).toMatch(/^[1-4]$/);
  expect(sample.latest - Number(start ?? version)).toBeLessThanOrEqual(allowedLag);
  const spans = spansOf(sample);
  if (spans === undefined) {
    // An engine that names a version of its own is believed; the start is told all the same.
    const isTold = sample.answer.json['metadata']?.weight_version !== undefined;
    expect(isFlagged).toBe(start !== undefined && !isTold);
    return;
  }
  const [first] = spans;
  expect(sample.latest - Number(first?.version)).toBeLessThanOrEqual(allowedLag);
  if (sample.kind === 'stream') {
    // Stamped as its head is written, before the refit it may yet live through.
    expect(isFlagged).toBe(false);
    return;
  }
  expect([isFlagged, version]).toEqual([spans.length > 1, spans.at(-1)?.version]);
  // One span and an earlier start: it was sent before the pause, and began after the refit.
  if (spans.length > 1) expect(start).toBe(first?.version);
  else if (start !== undefined) expect(Number(start)).toBeLessThan(Number(version));
}

const isInference = ({ route }: { readonly route: string }): boolean =>
  route === '/generate' || route === '/v1/chat/completions';

describeLanes('rolling refits under load', ({ hotLane }) => {
  const engines = Array.from(
    { length: 4 },
    () => new MockEngine({ tokens: 4, tokenLatencyMs: 2, keepRequests: 20_000 }),
  );
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  let latest = 0;
  let isOver = false;
  let samples: Sample[];
  let load: Promise<unknown>;

  const start = async (versionPolicy: string): Promise<void> => {
    stop = await startAll(...engines);
    gateway = await startRl(
      {
        rl: { versionPolicy },
        requests: { hotLane },
        retry: PATIENT,
        breaker: { disabled: true },
        health: { checksDisabled: true },
      },
      { engines },
    );
    for (const engine of engines) {
      engine.weightVersion = '1';
      engine.requests.length = 0;
    }
    await gateway.rl.setFleetVersion('1', 'engine=sglang');
    latest = 1;
    isOver = false;
    samples = [];
  };
  afterEach(async () => {
    await gateway.close();
    await stop();
    for (const engine of engines) engine.behaveNormally();
  });

  const drive = (lanes: number): void => {
    const agent = new Agent({ keepAlive: true, maxSockets: lanes });
    const lane = async (at: number): Promise<void> => {
      for (let i = at; !isOver; i += 1) {
        const kind = KINDS[i % KINDS.length] ?? 'chat';
        const known = latest;
        const answer = await send(
          gateway.url + (kind === 'chat' ? '/v1/chat/completions' : '/generate'),
          { agent, body: kind === 'chat' ? chat() : generate({ stream: kind === 'stream' }) },
        );
        samples.push({ kind, latest: known, answer });
      }
    };
    load = Promise.all(Array.from({ length: lanes }, (_, at) => lane(at))).finally(() => {
      agent.destroy();
    });
  };
  const after = async (count: number): Promise<void> => {
    const target = samples.length + count;
    await engines[0]?.waitUntil(() => samples.length >= target);
  };
  const refit = async (engine: MockEngine, version: number): Promise<void> => {
    const mode = version % 2 === 0 ? 'in_place' : 'retract';
    expect((await gateway.rl.call(engine, 'pause_generation', { body: { mode } })).status).toBe(
      200,
    );
    await gateway.rl.call(engine, 'update_weights_from_disk', {
      body: { model_path: '/ckpt', weight_version: String(version), flush_cache: true },
    });
    latest = Math.max(latest, version);
    await gateway.rl.call(engine, 'continue_generation');
  };

  it.each(['latest-only', 'max-staleness:1', 'any'])(
    'under %s: no error, nothing stale by the word of the engines, every mix flagged',
    async (policy) => {
      await start(policy);
      drive(12);
      await after(24);
      for (let version = 2; version <= 4; version += 1) {
        for (const engine of engines) {
          await refit(engine, version);
          await after(8);
        }
      }
      isOver = true;
      await load;

      expect(samples.filter(({ answer }) => answer.status !== 200 || answer.aborted)).toEqual([]);
      const allowed = { 'latest-only': 0, 'max-staleness:1': 1 }[policy] ?? Infinity;
      for (const sample of samples) check(sample, allowed);
      const drifts = samples.filter(({ answer }) => stampsOf(answer).start !== undefined);
      // Under the other two an engine may happen to be idle at each of its refits.
      if (policy === 'any') expect(drifts).not.toHaveLength(0);
      for (const engine of engines)
        expect(await gateway.rl.row(engine)).toMatchObject({
          weight_version: '4',
          control: 'active',
        });
    },
  );

  it('a drain that began is not disturbed: no request arrives between a pause and its continue', async () => {
    await start('any');
    drive(24);
    await after(48);
    for (let round = 0; round < 3; round += 1) {
      for (const engine of engines) {
        await gateway.rl.call(engine, 'pause_generation', { body: { mode: 'in_place' } });
        await after(12);
        await gateway.rl.call(engine, 'continue_generation');
      }
    }
    isOver = true;
    await load;
    expect(samples.filter(({ answer }) => answer.status !== 200)).toEqual([]);
    for (const engine of engines) {
      let isPaused = false;
      let pauses = 0;
      const late: number[] = [];
      engine.requests.forEach((request, at) => {
        if (request.route === '/pause_generation') {
          isPaused = true;
          pauses += 1;
        }
        if (request.route === '/continue_generation') isPaused = false;
        if (isPaused && isInference(request)) late.push(at);
      });
      expect([pauses, late]).toEqual([3, []]);
    }
  });
});
