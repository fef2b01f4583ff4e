import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { MockEngine } from '@smg/testing';
import { FakeGateway, reportOf } from '../../clients/typescript/test/support/fake-gateway';
import { send } from '../support/http';
import { ROOT } from '../support/program';
import { startAll, startRl, type RlGateway } from './support/rl';

const KEY = 'operators-key';

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** Runs an example as its page says; killed after a while. */
function example(
  name: string,
  argv: readonly string[],
  env: object = {},
  onSaid: (said: string, child: ChildProcess) => void = () => undefined,
): Promise<Ended> {
  const child = spawn(process.execPath, [join(ROOT, 'dist/examples/rl', name), ...argv], {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part: Buffer) => {
      said += part.toString();
      onSaid(said, child);
    });
  }
  return new Promise((resolve) => {
    child.once('close', (code) => {
      resolve({ code, said });
    });
  });
}

const flags = (smg: string, version: string): string[] => [
  ...['--smg', smg, '--model-path', '/m', '--weight-version', version],
];

describe('examples/rl, against the gateway', () => {
  const engines = [new MockEngine({ latencyMs: 5 }), new MockEngine({ latencyMs: 5 })] as const;
  const [first, second] = engines;
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(...engines);
    gateway = await startRl(
      {
        auth: { apiKey: KEY },
        rl: { versionPolicy: 'latest-only' },
        retry: { maxAttempts: 30, initialBackoffMs: 20, maxBackoffMs: 100 },
      },
      { engines },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  const rows = async (): Promise<unknown[]> => {
    const headers = { authorization: `Bearer ${KEY}` };
    const { json } = await send(`${gateway.url}/v1/rl/workers`, { headers });
    return (json['workers'] as Record<string, unknown>[])
      .sort(
        (a, b) =>
          engines.findIndex(({ url }) => url === a['url']) -
          engines.findIndex(({ url }) => url === b['url']),
      )
      .map(({ control, weight_version }) => `${String(control)} ${String(weight_version)}`);
  };

  /** Runs while `during` does. @returns the statuses of `/generate` meanwhile. */
  async function statusesDuring(during: () => Promise<unknown>): Promise<number[]> {
    const trainer = { isDone: false };
    const statuses = new Set<number>();
    const traffic = (async () => {
      while (!trainer.isDone) {
        const { status } = await send(`${gateway.url}/generate`, {
          headers: { authorization: `Bearer ${KEY}` },
          body: { text: 'hi' },
        });
        statuses.add(status);
      }
    })();
    try {
      await during();
    } finally {
      trainer.isDone = true;
      await traffic;
    }
    return [...statuses];
  }

  describe.each([
    ['refit-from-disk.js', '7'],
    ['rolling-refit.js', '8'],
  ])('%s', (script, version) => {
    it('puts a version on every engine, and no client notices', async () => {
      let ended: Ended | undefined;
      const statuses = await statusesDuring(async () => {
        ended = await example(script, flags(`${gateway.url}/`, version), { SMG_API_KEY: KEY });
      });
      expect(ended).toEqual({ code: 0, said: expect.stringContaining(`with version ${version}`) });
      for (const { url } of engines) {
        expect(ended?.said).toContain(`${url}: version ${version}, loaded in`);
      }
      expect(ended?.said).not.toContain(KEY);
      expect(engines.map(({ weightVersion }) => weightVersion)).toEqual([version, version]);
      expect(await rows()).toEqual([`active ${version}`, `active ${version}`]);
      expect(statuses).toEqual([200]);
    });
  });

  it.each<[string, string[]]>([
    ['HTTP 401', ['--api-key', 'wrong']],
    ['no_workers_match', ['--api-key', KEY, '--selector', 'engine=vllm']],
    ['invalid_selector', ['--api-key', KEY, '--selector', 'engine']],
    ['timeoutMs must be', ['--api-key', KEY, '--timeout', '0']],
    ['ECONNREFUSED', ['--api-key', KEY, '--smg', 'http://127.0.0.1:1']],
  ])('refit-from-disk.js ends with 1 when nothing was refitted: %s', async (text, more) => {
    const argv = [...flags(gateway.url, '9'), '--timeout', '20', ...more];
    const { code, said } = await example('refit-from-disk.js', argv);
    expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(text) });
    expect(said).not.toMatch(/^\s+at /m);
    expect(said).not.toContain(KEY);
  });

  it.each([
    [['--weight-version', '1']],
    [['--model-path', '/m']],
    [[...flags('http://127.0.0.1:1', '1'), '--nonsense']],
    [[...flags('http://127.0.0.1:1', '1'), '--timeout', 'soon']],
  ])('refit-from-disk.js ends with 2 on a wrong command line: %j', async (argv) => {
    const { code, said } = await example('refit-from-disk.js', argv);
    expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining('usage:') });
  });

  it.each(['SIGHUP', 'SIGINT', 'SIGTERM'] as const)(
    'refit-from-disk.js resumes at %s during the load, and ends with 1',
    async (signal) => {
      first.behave({ route: '/update_weights_from_disk', times: 1, delayMs: 15_000 });
      const onSaid = (said: string, child: ChildProcess): void => {
        if (said.endsWith('paused 2 engines\n')) child.kill(signal);
      };
      const argv = flags(gateway.url, '8');
      const ended = await example('refit-from-disk.js', argv, { SMG_API_KEY: KEY }, onSaid);
      expect(ended).toEqual({ code: 1, said: `paused 2 engines\n${signal}: given up\n` });
      expect(await rows()).toEqual([
        expect.stringMatching(/^active/),
        expect.stringMatching(/^active/),
      ]);
    },
  );

  it('rolling-refit.js leaves an engine that refused its weights paused, and ends with 1', async () => {
    first.behave({
      route: '/update_weights_from_disk',
      times: 1,
      status: 200,
      body: { success: false, message: 'no such checkpoint' },
    });
    const env = { SMG_API_KEY: KEY };
    const { code, said } = await example('rolling-refit.js', flags(gateway.url, '9'), env);
    expect({ code, said }).toEqual({
      code: 1,
      said: expect.stringContaining('was refused (200): no such checkpoint'),
    });
    // Engines are taken in the order of their ids.
    expect((await rows()).sort()).toEqual([expect.stringMatching(/^active [89]$/), 'paused 8']);
    expect(second.weightVersion).toMatch(/^[89]$/);
  });
});

describe('examples/rl/refit-from-disk, against odd answers', () => {
  const fake = new FakeGateway();
  beforeAll(() => fake.start());
  afterAll(() => fake.stop());
  beforeEach(() => (fake.seen.length = 0));

  const ok = { body: reportOf(['w1']) };
  const stamped = { 'x-smg-weight-version': '7' };
  const refit = (): Promise<Ended> =>
    example('refit-from-disk.js', [...flags(fake.url, '7'), '--timeout', '20']);
  const routes = (): (string | undefined)[] => fake.seen.map(({ path }) => path.split('/').pop());

  it('sends a pause, a load that flushes, a resume, and asks for one answer', async () => {
    fake.replies = [ok, ok, ok, { body: { text: 'a' }, headers: stamped }];
    const { code, said } = await refit();
    expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('with version 7') });
    expect(routes()).toEqual([
      ...['pause_generation', 'update_weights_from_disk', 'continue_generation', 'generate'],
    ]);
    expect(fake.seen[1]?.json).toEqual({
      model_path: '/m',
      weight_version: '7',
      flush_cache: true,
    });
  });

  it.each<[string, object, string]>([
    [
      'the stamp is another version',
      { body: {}, headers: { 'x-smg-weight-version': '6' } },
      'version 6',
    ],
    ['there is no stamp', { body: {} }, 'version unknown'],
    [
      'the engine reports another version',
      { body: { meta_info: { weight_version: '6' } }, headers: stamped },
      'reports version "6"',
    ],
    ['/generate fails', { status: 503, body: { error: { code: 'no_workers' } } }, 'answered 503'],
    ['the answer is no JSON', { body: 'hello', headers: stamped }, 'JSON'],
    ['there is no answer', { raw: '' }, 'fetch failed'],
  ])('ends with 1 when %s', async (_, reply, text) => {
    fake.replies = [ok, ok, ok, reply];
    const { code, said } = await refit();
    expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(text) });
    expect(said).not.toMatch(/^\s+at /m);
  });

  it('ends with 1 when an engine refused with a 200, and resumes', async () => {
    const body = { success: false, message: 'no such checkpoint' };
    const refused = { w1: { ...outcome(), body } };
    fake.replies = [ok, { body: { results: refused, failed: [], total: 1, succeeded: 1 } }, ok];
    const { code, said } = await refit();
    expect({ code, said }).toEqual({
      code: 1,
      said: expect.stringContaining('refused: no such checkpoint'),
    });
    expect(routes().at(-1)).toBe('continue_generation');
  });

  it('ends with 1 when the resume fails after a failure, and tells both', async () => {
    const dead = { status: 502, body: { error: 'gone' } };
    fake.replies = [ok, { status: 400, body: { error: 'first' } }, dead];
    const { code, said } = await refit();
    expect(code).toBe(1);
    expect(said).toMatch(/first \(HTTP 400\)\ngone \(HTTP 502\)/);
  });
});

const outcome = (): object => ({ worker_id: 'w1', url: 'u', status: 200, latency_ms: 1 });
