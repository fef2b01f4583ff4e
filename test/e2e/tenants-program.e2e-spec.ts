import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { runProgram, startProgram } from '../support/program';
import { until } from '../support/until';

describe('the program with tenant limits', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'smg-tenants-'));
    file = join(folder, 'limits.yaml');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const limited = (): string[] => [
    '--tenant-rate-limit-enabled',
    '--tenant-rate-limit-config',
    file,
  ];

  it('reads the file again on SIGHUP, while it serves', async () => {
    const engine = await new MockEngine().start();
    writeFileSync(file, 'default_policy: {requests_per_minute: 1}\n');
    const program = await startProgram([...limited(), '--worker-urls', engine.url], { ready: 1 });
    const generate = async (): Promise<number> =>
      (await send(`${program.url}/generate`, { body: { text: 'x' } })).status;
    try {
      expect([await generate(), await generate()]).toEqual([200, 429]);

      writeFileSync(file, 'default_policy: {requests_per_minute: 1\n');
      program.child.kill('SIGHUP');
      await until('the mistake is logged', () => program.output().includes('tenant-limits: kept'));
      expect(program.output()).toContain(`${file}:`);
      expect(await generate()).toBe(429);

      writeFileSync(file, 'default_policy: {requests_per_minute: 2}\n');
      program.child.kill('SIGHUP');
      await until('it is read', () => program.output().includes('tenant-limits: read again'));
      expect([await generate(), await generate(), await generate()]).toEqual([200, 200, 429]);
    } finally {
      await program.kill();
      await engine.stop();
    }
  });

  it.each([
    ['a mistake in the file', 'default_policy: {tokens_per_minute: many}\n', ':1:37: tokens_per'],
    ['no file', undefined, 'ENOENT'],
  ])('does not start with %s, and says why in one line', async (_, limits, message) => {
    if (limits !== undefined) writeFileSync(file, limits);
    const ports = ['--host', '127.0.0.1', '--port', '1', '--prometheus-port', '2'];
    const end = await runProgram([...limited(), ...ports]);
    expect(end.code).toBe(1);
    expect(end.stdout + end.stderr).toContain(message);
    expect(end.stderr + end.stdout).not.toMatch(/\n\s+at /);
  });
});
