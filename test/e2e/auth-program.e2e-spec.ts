import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockIdp } from '@smg/testing';
import { send } from '../support/http';
import { freePorts, runProgram, startProgram } from '../support/program';
import { until } from '../support/until';

let folder: string;
let idp: MockIdp;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'smg-auth-program-'));
  idp = await new MockIdp().start();
});
afterAll(async () => {
  await idp.stop();
  rmSync(folder, { recursive: true });
});

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

const workers = async (url: string, key: string): Promise<number> =>
  (await send(`${url}/workers`, { headers: { authorization: `Bearer ${key}` } })).status;

describe('the program', () => {
  it('takes tokens and key files, and reads both again on SIGHUP', async () => {
    const key = await idp.addKey('k1', 'EdDSA');
    const control = file('control', 'ci:CI:admin:canary-1\n');
    const program = await startProgram([
      ...['--jwt-issuer', idp.issuer, '--jwt-audience', 'smg'],
      ...['--control-plane-api-keys-file', control],
      ...['--api-key-file', file('shared', 'canary-shared\n')],
    ]);
    try {
      const exp = Math.floor(Date.now() / 1000) + 60;
      const claims = { iss: idp.issuer, aud: 'smg', exp, sub: 'ada', role: 'admin' };
      expect(await workers(program.url, key.token(claims))).toBe(200);
      expect(await workers(program.url, 'canary-1')).toBe(200);
      expect(await workers(program.url, 'canary-shared')).toBe(401);
      file('control', 'ci:CI:admin:canary-2\n');
      idp.removeKey('k1');
      const next = await idp.addKey('k2', 'EdDSA');
      program.child.kill('SIGHUP');
      await until('both were read again', async () => {
        const statuses = [
          await workers(program.url, 'canary-2'),
          await workers(program.url, next.token(claims)),
        ];
        return statuses.every((status) => status === 200);
      });
      expect(await workers(program.url, 'canary-1')).toBe(401);
      expect(await workers(program.url, key.token(claims))).toBe(401);
      expect(program.output()).not.toMatch(/canary|eyJ/);
    } finally {
      await program.kill();
    }
  });

  it.each<[string, () => readonly string[], RegExp]>([
    ['no file', () => ['--api-key-file', join(folder, 'none')], /--api-key-file: .*ENOENT/],
    [
      'a bad line',
      () => ['--tenant-api-keys-file', file('t', 'a:b\ncanary')],
      /--tenant-api-keys-file: .*line 2/,
    ],
    [
      'another issuer',
      () => ['--jwt-issuer', `${idp.issuer}/`, '--jwt-audience', 'smg'],
      /--jwt-issuer: .*names another issuer/,
    ],
    ['half a set-up', () => ['--jwt-issuer', idp.issuer], /jwt-audience/],
  ])('%s: exit code 1 and one clear line', async (_name, argv, message) => {
    const [port, metricsPort] = await freePorts(2);
    const ports = ['--port', String(port), '--prometheus-port', String(metricsPort)];
    const ended = await runProgram([...ports, ...argv()]);
    const output = ended.stdout + ended.stderr;
    expect(output).toMatch(message);
    expect(output).not.toMatch(/canary|^\s+at /m);
    expect(ended.code).toBeGreaterThan(0);
  });
});
