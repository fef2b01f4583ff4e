import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MockEngine } from '@smg/testing';
import { send, type Answer } from '../support/http';
import { ROOT, freePorts, runProgram, startProgram, type RunningProgram } from '../support/program';
import { workersOf } from '../support/workers';

// The example plug-in as its author would ship it: compiled apart against the built package, and named
// to the real program with --plugin.

const run = promisify(execFile);

let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'smg-author-'));
  mkdirSync(join(home, 'node_modules'));
  symlinkSync(ROOT, join(home, 'node_modules/smg-gateway'));
  for (const scope of ['@nestjs', '@types']) {
    symlinkSync(join(ROOT, 'node_modules', scope), join(home, 'node_modules', scope));
  }
  const example = join(ROOT, 'examples/gpu-class-filter');
  for (const part of ['package.json', 'tsconfig.build.json', 'src']) {
    cpSync(join(example, part), join(home, part), { recursive: true });
  }
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', join(home, 'tsconfig.build.json')]);
}, 120_000);

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

describe('--plugin with a compiled filter', () => {
  let program: RunningProgram;
  let engines: MockEngine[];
  const ask = (gpuClass?: string): Promise<Answer> =>
    send(`${program.url}/v1/completions`, {
      headers: gpuClass === undefined ? {} : { 'x-acme-gpu-class': gpuClass },
      body: { model: 'mock-model', prompt: 'x' },
    });

  beforeAll(async () => {
    engines = [await new MockEngine().start(), await new MockEngine().start()];
    program = await startProgram(
      [
        ...['--plugin', './dist/gpu-class.plugin.js', '--require-filters', 'gpu-class'],
        ...['--policy', 'round_robin', '--retry-initial-backoff-ms', '1', '--log-level', 'debug'],
      ],
      { cwd: home },
    );
    const workers = workersOf(program.url);
    const classes = ['h200', 'l4'];
    for (const [at, engine] of engines.entries()) {
      await workers.added({ url: engine.url, labels: { gpu_class: classes[at] ?? '' } });
    }
  }, 60_000);
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
    await program.kill();
  });

  it('narrows real requests to the class they ask for; others go anywhere', async () => {
    for (let i = 0; i < 6; i += 1) {
      const got = await ask('h200');
      expect([got.status, got.headers['x-smg-routed-worker-id']]).toEqual([200, engines[0]?.url]);
    }
    const seen = new Set<unknown>();
    for (let i = 0; i < 6; i += 1) seen.add((await ask()).headers['x-smg-routed-worker-id']);
    expect(seen.size).toBe(2);
  });

  it('nobody of the class: 503 workers_filtered, the filter named', async () => {
    const got = await ask('tpu');
    expect([got.status, got.json['error'].code]).toEqual([503, 'workers_filtered']);
    expect(got.headers['x-smg-error-code']).toBe('workers_filtered');
    expect(got.json['error'].message).toContain('gpu-class');
  });

  it('says at the start which filters run', () => {
    expect(program.output()).toMatch(/candidate filters:.*gpu-class/);
  });
});

describe('the same start without the plug-in', () => {
  it('--require-filters gpu-class refuses: non-zero, the filter named, no stack trace', async () => {
    const [port = 0, metrics = 0] = await freePorts(2);
    const got = await runProgram(
      [
        ...['--require-filters', 'gpu-class', '--host', '127.0.0.1', '--port', String(port)],
        ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metrics)],
      ],
      { cwd: home },
    );
    expect(got.code).not.toBe(0);
    expect(got.stderr).toContain('gpu-class');
    expect(got.stderr).not.toMatch(/\n\s+at .*\(/);
  });
});
