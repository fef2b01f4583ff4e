import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockEngine, type MockEngineOptions } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send, type Answer, type OpenStream } from '../support/http';
import { until } from '../support/until';
import { describeLanes } from './support/lanes';

const CHAT = { model: 'mock-model', messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';
type Admission = NonNullable<PartialGatewayConfig['admission']>;

/** A class in YAML; nothing reserved, none may wait, unless told otherwise. */
const cls = (name: string, given: Record<string, unknown> = {}): string =>
  `  ${name}: ${JSON.stringify({
    reserved_floor: 0,
    queue_size: 0,
    queue_timeout_secs: 1,
    starvation_threshold_secs: 60,
    can_preempt: false,
    ...given,
  })}`;
/** Every class in YAML. */
const classes = (given: Record<string, Record<string, unknown>> = {}): string =>
  [
    'classes:',
    ...['system', 'interactive', 'default', 'bulk'].map((name) => cls(name, given[name])),
  ].join('\n');

describeLanes('the priority scheduler', ({ hotLane }) => {
  let folder: string;
  let file: string;
  let running: RunningGateway | undefined;
  let engine: MockEngine;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'smg-priority-'));
    file = join(folder, 'scheduler.yaml');
  });
  afterEach(async () => {
    await running?.close();
    running = undefined;
    await engine.stop();
    rmSync(folder, { recursive: true });
  });

  /** One engine that runs one request at once, unless told otherwise. */
  async function start(
    yaml: string,
    options: MockEngineOptions = { latencyMs: 400 },
    admission: Admission = {},
    config: PartialGatewayConfig = {},
  ): Promise<void> {
    engine = await new MockEngine({ labels: { max_running_requests: '1' }, ...options }).start();
    writeFileSync(file, yaml);
    running = await startGateway(
      {
        ...config,
        admission: { schedulerEnabled: true, schedulerConfig: file, ...admission },
        requests: { hotLane },
      },
      { engines: [engine] },
    );
  }

  const url = (): string => `${running?.url ?? ''}${PATH}`;
  const chat = (priority?: string, headers: Record<string, string> = {}): Promise<Answer> =>
    send(url(), {
      body: CHAT,
      headers: priority === undefined ? headers : { 'x-smg-priority': priority, ...headers },
    });
  const stream = (priority: string, tokens = 10): Promise<OpenStream> =>
    open(url(), {
      body: { ...CHAT, stream: true, max_tokens: tokens },
      headers: { 'x-smg-priority': priority },
    });
  const inFlight = (count: number): Promise<void> =>
    until(`${count} requests at the engine`, () => engine.counters.of(PATH) >= count);
  const page = async (): Promise<string> => (await running?.metrics()) ?? '';
  const shows = (line: string): Promise<void> =>
    until(line, async () => (await page()).includes(`${line}\n`));
  const code = (answer: Answer): unknown => answer.headers['x-smg-error-code'];

  it('[G82] without a queue the next is refused at once', async () => {
    await start(classes());
    const first = chat();
    await inFlight(1);
    const refused = await chat();
    expect(refused.status).toBe(429);
    expect(code(refused)).toBe('scheduler_queue_full');
    expect(refused.headers['retry-after']).toBe('2');
    expect((await first).status).toBe(200);
    await shows('smg_scheduler_admit_total{class="default",outcome="rejected_queue_full"} 1');
  });

  it('[G83] who waits for longer than its class allows is told so', async () => {
    await start(classes({ default: { queue_size: 4 } }), { latencyMs: 1500 });
    const first = chat();
    await inFlight(1);
    const refused = await chat();
    expect(refused.status).toBe(503);
    expect(code(refused)).toBe('scheduler_queue_timeout');
    expect(refused.headers['retry-after']).toBe('2');
    expect((await first).status).toBe(200);
  });

  it('[G84] a request that has sent nothing is stopped for a higher class, at its engine too', async () => {
    await start(
      classes({ interactive: { can_preempt: true } }),
      { latencyMs: 1000 },
      { schedulerDefaultMaxClass: 'system' },
    );
    const bulk = chat('bulk');
    await inFlight(1);
    const interactive = chat('interactive');
    const stopped = await bulk;
    expect(stopped.status).toBe(503);
    expect(code(stopped)).toBe('scheduler_preempted');
    expect(stopped.headers['x-smg-preempted']).toBe('true');
    expect(stopped.headers['retry-after']).toBe('1');
    expect(stopped.headers['x-smg-routed-worker-id']).toBeUndefined();
    await until('the engine was told', () => engine.requests.some(({ aborted }) => aborted));
    expect((await interactive).status).toBe(200);
    await shows('smg_scheduler_preemption_total{victim_class="bulk",by_class="interactive"} 1');
    await shows('smg_scheduler_admit_total{class="bulk",outcome="preempted"} 1');
    await shows('smg_scheduler_inflight{class="interactive"} 0');
    await shows('smg_scheduler_inflight{class="bulk"} 0');
    // Nobody blames the engine.
    expect(await page()).not.toContain('outcome="failure"} 1');
  });

  it('[G84] a request that has sent a byte is not stopped', async () => {
    await start(
      classes({ interactive: { can_preempt: true } }),
      { tokenLatencyMs: 60 },
      { schedulerDefaultMaxClass: 'system' },
    );
    const bulk = await stream('bulk');
    const refused = await chat('interactive');
    expect(refused.status).toBe(429);
    let text = '';
    for await (const chunk of bulk.incoming) text += String(chunk);
    expect(text).toContain('[DONE]');
  });

  it('[G85] a tenant gets no more than its highest class, which is counted', async () => {
    await start(classes({ system: { can_preempt: true }, interactive: { can_preempt: true } }), {
      latencyMs: 400,
    });
    const bulk = chat('bulk');
    await inFlight(1);
    const refused = await chat('system');
    expect(refused.status).toBe(429);
    expect(refused.json['error'].message).toContain('class default');
    const served = await bulk;
    expect(served.status).toBe(200);
    expect(served.headers['x-smg-preempted']).toBeUndefined();
    await shows(
      'smg_scheduler_clamp_total{tenant="ip",requested_class="system",effective_class="default"} 1',
    );
  });

  it('policies of tenants beat the default, and an unknown class is the default class', async () => {
    await start(
      `${classes({ interactive: { can_preempt: true } })}\ntenant_policies: {"header:gold": {max_class: system}}`,
      { latencyMs: 300 },
      {},
      { tenants: { trustHeader: true } },
    );
    const gold = { 'x-smg-tenant-id': 'gold' };
    const bulk = chat('bulk');
    await inFlight(1);
    expect((await chat(' URGENT ', gold)).status).toBe(429);
    await shows('smg_scheduler_unknown_priority_value_total{tenant="header"} 1');
    expect((await chat(' Interactive ', gold)).status).toBe(200);
    expect((await bulk).status).toBe(503);
  });

  it('[G86] a slot is free once the body has been read', async () => {
    await start(classes(), { tokenLatencyMs: 40 });
    const first = await stream('default', 6);
    expect((await chat()).status).toBe(429);
    for await (const chunk of first.incoming) expect(chunk).toBeDefined();
    await until('the slot is free', async () => (await chat()).status === 200);
  });

  it('[G86] who has starved comes in past an unused reservation', async () => {
    await start(
      classes({
        interactive: { reserved_floor: 1 },
        bulk: { queue_size: 4, queue_timeout_secs: 30, starvation_threshold_secs: 1 },
      }),
      {},
    );
    const began = performance.now();
    expect((await chat('bulk')).status).toBe(200);
    expect(performance.now() - began).toBeGreaterThan(950);
    await shows('smg_scheduler_starvation_promotion_total{class="bulk"} 1');
  });

  it('[G87] reservations beyond the capacity are not kept, with a warning', async () => {
    engine = await new MockEngine({ labels: { max_running_requests: '8' } }).start();
    running = await startGateway(
      { admission: { schedulerEnabled: true, maxConcurrentRequests: 8 }, requests: { hotLane } },
      { engines: [engine] },
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat('bulk')));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const warnings = running.rawLogs.filter((line) => line.includes('priorities are not kept'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('more than the capacity of 8');
    await shows('smg_admission_inflight 0');
  });

  it('the capacity follows the workers', async () => {
    await start(classes({ default: { queue_size: 10, queue_timeout_secs: 30 } }), {
      latencyMs: 600,
    });
    const all = Promise.all([chat(), chat(), chat()]);
    await inFlight(1);
    await shows('smg_scheduler_queue_depth{class="default"} 2');
    const second = await new MockEngine({
      labels: { max_running_requests: '5' },
      latencyMs: 600,
    }).start();
    try {
      await send(`${running?.url ?? ''}/workers`, { body: { url: second.url } });
      await shows('smg_scheduler_queue_depth{class="default"} 0');
      expect((await all).map(({ status }) => status)).toEqual([200, 200, 200]);
    } finally {
      await second.stop();
    }
  });

  it('a client that leaves the queue is seen as such', async () => {
    await start(classes({ default: { queue_size: 4, queue_timeout_secs: 30 } }), {
      latencyMs: 800,
    });
    const first = chat();
    await inFlight(1);
    const controller = new AbortController();
    const gone = fetch(url(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(CHAT),
      signal: controller.signal,
    }).catch(() => 'gone');
    await shows('smg_scheduler_queue_depth{class="default"} 1');
    controller.abort();
    expect(await gone).toBe('gone');
    await shows('smg_scheduler_admit_total{class="default",outcome="client_cancelled"} 1');
    await until('the log says so', () =>
      (running?.rawLogs ?? []).some((line) => line.includes('scheduler_client_cancelled')),
    );
    expect((await first).status).toBe(200);
    expect(engine.counters.of(PATH)).toBe(1);
  });

  it('a new file is taken on reload, a broken one is not', async () => {
    await start(classes());
    const busy = chat();
    await inFlight(1);
    writeFileSync(file, classes({ default: { queue_size: -1 } }));
    await running?.gateway.reload();
    expect((await chat()).status).toBe(429);
    writeFileSync(file, classes({ default: { queue_size: 1, queue_timeout_secs: 30 } }));
    await running?.gateway.reload();
    expect((await chat()).status).toBe(200);
    expect((await busy).status).toBe(200);
    expect(
      running?.rawLogs.some((line) => line.includes('queue_size must be a whole number')),
    ).toBe(true);
  });

  it('a file with a mistake stops the start', async () => {
    await expect(start('classes: {bulk: {queue_size: 1}}')).rejects.toThrow(
      /scheduler\.yaml:1:\d+: reserved_floor is missing/,
    );
  });
});
