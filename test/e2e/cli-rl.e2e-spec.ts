import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { spawnProgram } from '../support/program';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { runRl, type RlOptions } from './support/rl-cli';

const TOKEN = 'operators-token';
const ENV = { SMG_ADMIN_TOKEN: TOKEN };

let folder: string;
let sglang: MockEngine;
let other: MockEngine;
let vllm: MockEngine;
let gateway: RunningGateway;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'smg-rl-'));
  sglang = new MockEngine({ model: 'm' });
  other = new MockEngine({ model: 'm' });
  vllm = new MockEngine({ model: 'm', kind: 'vllm' });
  const engines = [sglang, other, vllm];
  await Promise.all(engines.map((engine) => engine.start()));
  gateway = await startGateway({ rl: { enabled: true }, auth: { apiKey: TOKEN } }, { engines });
});
afterEach(async () => {
  await gateway.close();
  await Promise.all([sglang, other, vllm].map((engine) => engine.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const run = (argv: readonly string[], options: RlOptions = {}) =>
  runRl([...argv, '--url', gateway.url], { env: ENV, ...options });

const idOf = async (engine: MockEngine): Promise<string> =>
  (await workersOf(gateway.url, TOKEN).byUrl(engine.url)).id;

const rowOf = async (engine: MockEngine): Promise<Record<string, unknown>> => {
  const { stdout } = await run(['workers', engine.url, '--json']);
  return JSON.parse(stdout) as Record<string, unknown>;
};

/** Routes an engine was called at, control calls alone. */
const callsOf = (engine: MockEngine): string[] =>
  engine.requests
    .map(({ route }) => route)
    .filter((path) => /pause|update_w|continue|resume|collective|reset_/.test(path));

describe('smg rl workers', () => {
  it('lists engines in columns, or as the gateway says it', async () => {
    const { code, stdout } = await run(['workers']);
    expect(code).toBe(0);
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^ID +URL +ENGINE +MODEL +HEALTH +CONTROL +VERSION +SOURCE$/);
    expect(rows).toHaveLength(3);
    expect(rows.find((row) => row.includes(vllm.url))).toMatch(/ vllm +m +ready +active +- +-$/);
    const json = JSON.parse((await run(['workers', '--json'])).stdout);
    expect(json).toMatchObject({ protocol_version: 1, total: 3 });
    const one = await run(['workers', await idOf(vllm)]);
    expect(one.stdout.trimEnd().split('\n')).toHaveLength(2);
  });

  it('gives the token from a file, the URL from the environment', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, `${TOKEN}\n`);
    const end = await runRl(['workers', '--token-file', file], { env: { SMG_URL: gateway.url } });
    expect(end).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('smg rl call and fanout', () => {
  it('calls one engine by id or URL, and prints its answer', async () => {
    const paused = await run([
      'call',
      await idOf(sglang),
      'pause_generation',
      '--body',
      '{"mode":"retract"}',
    ]);
    expect(paused.code).toBe(0);
    expect(paused.stdout).toMatch(/^HTTP 200 in \d+ ms\n\{\n {2}"status": "ok"/);
    expect(sglang.requests.at(-1)?.body.toString()).toBe('{"mode":"retract"}');
    // SGLang wants a body; without one said, there is one.
    expect((await run(['call', sglang.url, '/continue_generation'])).code).toBe(0);
    const info = await run(['call', sglang.url, 'server_info', '--method', 'GET', '--json']);
    expect(JSON.parse(info.stdout)).toMatchObject({ status: 200, body: { model_path: 'm' } });
  });

  it('takes a body from a file, and repeats parameters', async () => {
    const file = join(folder, 'body.json');
    writeFileSync(file, '{"a": 1}');
    const params = ['--param', 'tags=weights', '--param', 'tags=kv_cache'];
    await run(['call', vllm.url, 'wake_up', '--body-file', file, ...params]);
    const last = vllm.requests.at(-1);
    expect([last?.path, last?.body.toString()]).toEqual([
      '/wake_up?tags=weights&tags=kv_cache',
      '{"a": 1}',
    ]);
  });

  it('an engine that refuses is 1, a gateway that refuses is 2', async () => {
    const refused = await run(['call', vllm.url, 'pause', '--param', 'mode=never']);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain('HTTP 400');
    expect(await run(['call', 'no-such-id', 'pause'])).toMatchObject({
      ...{ code: 2, stderr: 'error: worker_not_found (HTTP 404): worker `no-such-id` not found\n' },
    });
    for (const path of ['..', 'a/../b', '']) {
      expect((await run(['call', sglang.url, path])).stderr).toMatch(/cannot be part of a path/);
    }
    expect((await run(['call', '..', 'x'])).stderr).toContain('cannot be part of a path');
    expect((await run(['call', sglang.url, 'a b'])).stderr).toContain('invalid_engine_path');
    expect((await run(['call', 'http://nobody:1', 'x'])).stderr).toContain('no engine is at');
    await other.stop();
    const dead = await run(['call', other.url, 'health', '--method', 'GET']);
    expect(dead).toMatchObject({ code: 1 });
    expect(dead.stderr).toContain('upstream_unreachable');
  });

  it('reports a fan-out by engine', async () => {
    const good = await run(['fanout', 'flush_cache', '--selector', 'engine=sglang']);
    expect(good.code).toBe(0);
    expect(good.stdout).toMatch(/2 engines, 0 failed\n$/);
    const bad = await run(['fanout', 'flush_cache', '--selector', 'model=m']);
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(new RegExp(`^${vllm.url} +404 +\\d+ +HTTP 404`, 'm'));
    expect(bad.stdout).toMatch(/3 engines, 1 failed\n$/);
    const nobody = await run(['fanout', 'pause', '--selector', 'engine=mlx']);
    expect(nobody).toMatchObject({ code: 2, stdout: '' });
    expect(nobody.stderr).toContain('no_workers_match');
  });
});

describe('smg rl set-version and set-state', () => {
  it('write for one or for many', async () => {
    const one = await run(['set-version', '7', '--worker', sglang.url]);
    expect(one.code).toBe(0);
    expect(one.stdout).toMatch(/active +7 +api\n$/);
    const many = await run(['set-state', 'paused', '--selector', 'engine=sglang', '--json']);
    expect(JSON.parse(many.stdout)).toMatchObject({ total: 2 });
    expect(await rowOf(other)).toMatchObject({ control: 'paused' });
  });

  it.each([
    [['set-version', '7'], 'either --worker or --selector'],
    [['set-version', '7', '--worker', 'a', '--selector', 'b=c'], 'either --worker or --selector'],
    [['set-version', 'a b', '--selector', 'model=m'], 'invalid_version'],
    [['set-state', 'napping', '--selector', 'model=m'], 'invalid_body'],
    [['set-state', 'active', '--selector', '=x'], 'invalid_selector'],
  ])('%j', async (argv, text) => {
    const end = await run(argv);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain(text);
  });
});

describe('smg rl refit', () => {
  const REFIT = ['refit', '--model-path', '/ckpt/2', '--weight-version', '2', '--selector'];

  it('gives SGLang and vLLM new weights, each its own way, and reads the versions back', async () => {
    const end = await run([...REFIT, 'model=m']);
    expect(end.code).toBe(0);
    expect(end.stdout).toMatch(/3 engines, 0 not at version 2 and active\n$/);
    expect(end.stderr.trimEnd().split('\n')).toHaveLength(9);
    expect(callsOf(sglang)).toEqual([
      ...['/pause_generation', '/update_weights_from_disk', '/continue_generation'],
    ]);
    expect(callsOf(vllm)).toEqual(['/pause', '/collective_rpc', '/reset_prefix_cache', '/resume']);
    for (const engine of [sglang, other, vllm]) {
      expect(await rowOf(engine)).toMatchObject({ weight_version: '2', control: 'active' });
    }
  });

  it('tells scripts the same in JSON, and nothing else', async () => {
    const end = await run([...REFIT, 'engine=sglang', '--json', '--concurrency', '1']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const report = JSON.parse(end.stdout);
    expect(report).toMatchObject({ weight_version: '2', total: 2, failed: 0, interrupted: false });
    expect(report.engines[0]).toMatchObject({ ok: true, pause: 'ok', load: 'ok', resume: 'ok' });
  });

  it('resumes an engine that did not load, and says so; or leaves it when told', async () => {
    other.behave({
      route: '/update_weights_from_disk',
      status: 200,
      body: { success: false, message: 'no such path' },
    });
    const end = await run([...REFIT, 'engine=sglang']);
    expect(end.code).toBe(1);
    expect(end.stdout).toMatch(/failed +- +ok +- +active +HTTP 200: no such path/);
    expect(await rowOf(other)).toMatchObject({ control: 'active', weight_version: null });
    expect(await rowOf(sglang)).toMatchObject({ control: 'active', weight_version: '2' });
    const left = await run([...REFIT, `url=${other.url}`, '--keep-failed-paused']);
    expect(left.code).toBe(1);
    expect(await rowOf(other)).toMatchObject({ control: 'paused' });
  });

  it('loads nothing when a pause fails, and resumes everybody', async () => {
    const end = await run([...REFIT, 'model=m', '--mode', 'retract']);
    expect(end.code).toBe(1);
    expect(callsOf(sglang)).toEqual(['/pause_generation', '/continue_generation']);
    expect(callsOf(vllm)).toEqual(['/pause', '/resume']);
    expect(await rowOf(sglang)).toMatchObject({ control: 'active', weight_version: null });
  });

  it('pauses nobody when one of them is gone', async () => {
    await other.stop();
    const end = await run([...REFIT, 'engine=sglang']);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toContain('nothing was paused');
    expect(callsOf(sglang)).toEqual([]);
  });

  it.each([['SIGHUP', 129] as const, ['SIGINT', 130] as const, ['SIGTERM', 143] as const])(
    '%s during the load resumes first, then ends',
    async (name, code) => {
      sglang.behave({ route: '/update_weights_from_disk', delayMs: 60_000 });
      let isSent = false;
      const end = await run([...REFIT, 'engine=sglang'], {
        onError: (text, signal) => {
          if (!text.includes(`${other.url}: load ok`) || isSent) return;
          isSent = true;
          signal(name);
        },
      });
      expect(end.code).toBe(code);
      expect(end.stderr).toContain(`${name}: resuming what was paused`);
      expect(end.stdout).toContain('interrupted');
      for (const engine of [sglang, other]) {
        expect(callsOf(engine).at(-1)).toBe('/continue_generation');
        expect(await rowOf(engine)).toMatchObject({ control: 'active' });
      }
    },
  );

  it('the program itself resumes at Ctrl-C', async () => {
    sglang.behave({ route: '/update_weights_from_disk', delayMs: 60_000 });
    const program = spawnProgram(['rl', ...REFIT, 'engine=sglang', '--url', gateway.url], {
      env: ENV,
    });
    await until('it loads', () => program.stderr().includes(`${other.url}: load ok`));
    program.child.kill('SIGINT');
    expect(await program.ended).toEqual({ code: 130, signal: null });
    expect(await rowOf(sglang)).toMatchObject({ control: 'active' });
  });

  it.each([
    ['SIGINT', 'SIGINT', 130],
    ['SIGHUP', 'SIGHUP', 129],
    ['SIGINT', 'SIGTERM', 130],
  ] as const)('%s and %s at once are one: it resumes all the same', async (one, two, code) => {
    sglang.behave({ route: '/update_weights_from_disk', delayMs: 60_000 });
    sglang.behave({ route: '/continue_generation', delayMs: 300 });
    const program = spawnProgram(['rl', ...REFIT, 'engine=sglang', '--url', gateway.url], {
      env: ENV,
    });
    await until('it loads', () => program.stderr().includes(`${other.url}: load ok`));
    program.child.kill(one);
    await until('it resumes', () => program.stderr().includes('resuming what was paused'));
    program.child.kill(two);
    expect(await program.ended).toEqual({ code, signal: null });
    expect(await rowOf(sglang)).toMatchObject({ control: 'active' });
  });

  it('goes on when nobody reads what it prints', async () => {
    sglang.behave({ route: '/update_weights_from_disk', delayMs: 300 });
    const program = spawnProgram(['rl', ...REFIT, 'engine=sglang', '--url', gateway.url], {
      env: ENV,
    });
    program.child.stdout?.destroy();
    program.child.stderr?.destroy();
    expect(await program.ended).toEqual({ code: 0, signal: null });
    for (const engine of [sglang, other]) {
      expect(await rowOf(engine)).toMatchObject({ control: 'active', weight_version: '2' });
    }
  });

  it('a version the gateway would refuse pauses nobody', async () => {
    const end = await run([
      ...REFIT.slice(0, 3),
      '--weight-version',
      'a b',
      '--selector',
      'model=m',
    ]);
    expect(end.code).toBe(2);
    expect(callsOf(sglang)).toEqual([]);
  });
});

describe('smg rl: gateways that refuse, lines that cannot be', () => {
  it('a token that is missing or wrong', async () => {
    const missing = await run(['workers'], { env: {} });
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain('the token is missing or unknown');
    const wrong = await run(['workers'], { env: { SMG_ADMIN_TOKEN: 'Wrong-one' } });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).not.toContain('Wrong-one');
  });

  it('no gateway, no control plane, no answer', async () => {
    const nobody = await runRl(['workers', '--url', 'http://127.0.0.1:9']);
    expect(nobody.code).toBe(2);
    expect(nobody.stderr).toMatch(/^error: cannot reach the gateway at http:\/\/127.0.0.1:9: .+/);
    const off = await startGateway();
    try {
      expect(await runRl(['workers', '--url', off.url])).toMatchObject({
        ...{ code: 2, stderr: expect.stringContaining('the gateway needs --enable-rl') as unknown },
      });
    } finally {
      await off.close();
    }
    const silent: Server = createServer(() => undefined);
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    try {
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const late = await runRl(['workers', '--url', url, '--timeout', '1']);
      expect(late).toMatchObject({
        code: 2,
        stderr: 'error: no answer of the gateway within 1 s\n',
      });
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  it('a token that is an ordinary word changes no answer', async () => {
    const plain = await startGateway({ rl: { enabled: true } }, { engines: [sglang] });
    try {
      const end = await runRl(['workers', '--url', plain.url], {
        env: { SMG_ADMIN_TOKEN: 'sglang' },
      });
      expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining(' sglang ') });
    } finally {
      await plain.close();
    }
  });

  it('something else than a gateway; what it echoes hides the token', async () => {
    const echo: Server = createServer((request, response) => {
      response.end(JSON.stringify({ you: request.headers.authorization }));
    });
    await new Promise<void>((done) => echo.listen(0, '127.0.0.1', done));
    try {
      const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
      const end = await runRl(['workers', '--json', '--url', url], { env: ENV });
      expect(end).toMatchObject({ code: 2, stdout: '' });
      expect(end.stderr).toContain('is --url that of a gateway?');
      expect(end.stderr).not.toContain(TOKEN);
    } finally {
      echo.close();
    }
  });

  it.each([
    [['--token=Secret', 'workers']],
    [['workers', '--token=Secret']],
    [['workers', '--api-key=Secret']],
    [['call', 'a']],
    [['fanout', 'pause']],
    [['frobnicate']],
    [['workers', '--timeout', '0']],
    [['call', 'a', 'b', '--method', 'PUT']],
    [['call', 'a', 'b', '--param', 'x']],
    [['call', 'a', 'b', '--body', '{}', '--body-file', 'f']],
    [['call', 'a', 'b', '--method', 'GET', '--body', '{}']],
    [['refit', '--selector', 'a=b']],
    [[]],
  ])('%j is a usage error', async (argv) => {
    const end = await runRl(argv);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).not.toBe('');
    expect(end.stderr).not.toContain('Secret');
    expect(end.stderr).not.toContain('    at ');
  });

  it('explains itself', async () => {
    const end = await runRl(['refit', '--help']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toContain('--keep-failed-paused');
  });
});
