import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { send } from '../support/http';
import { freePorts, runProgram, startProgram, type RunningProgram } from '../support/program';
import { until } from '../support/until';
import { recordsOf } from './support/audit';

let folder: string;
let file: string;
let program: RunningProgram | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smg-audit-'));
  file = join(folder, 'audit.log');
});
afterEach(async () => {
  await program?.kill();
  program = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const list = async (running: RunningProgram, id: string, agent?: Agent): Promise<number> => {
  const headers = { 'x-request-id': id };
  const sending = agent === undefined ? { headers } : { headers, agent };
  return (await send(`${running.url}/workers`, sending)).status;
};

const idsOf = (path: string): unknown[] => recordsOf(path).map(({ request_id }) => request_id);

/** Calls until told to stop. @returns the ids of those that were answered. */
function load(running: RunningProgram): { stop(): Promise<string[]> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const answered: string[] = [];
  let sent = 0;
  let isOn = true;
  const one = async (): Promise<void> => {
    while (isOn) {
      const id = `load-${(sent += 1)}`;
      try {
        if ((await list(running, id, agent)) === 200) answered.push(id);
      } catch {
        return;
      }
    }
  };
  const all = Promise.all(Array.from({ length: 4 }, one));
  return {
    stop: async () => {
      isOn = false;
      await all;
      agent.destroy();
      return answered;
    },
  };
}

describe('the program', () => {
  it('SIGHUP goes on in a new file: nothing lost, nothing twice', async () => {
    const running = (program = await startProgram(['--audit-log-file', file]));
    const calls = load(running);
    for (let i = 1; i <= 3; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      renameSync(file, `${file}.${i}`);
      running.child.kill('SIGHUP');
      await until('it is there', () => {
        try {
          return readFileSync(file, 'utf8').length > 0;
        } catch {
          return false;
        }
      });
    }
    const answered = await calls.stop();
    running.child.kill('SIGTERM');
    await running.ended;
    const seen = [file, `${file}.1`, `${file}.2`, `${file}.3`].flatMap(idsOf).map(String);
    expect(answered.length).toBeGreaterThan(50);
    expect(seen.filter((id) => id.startsWith('load-')).sort()).toEqual(answered.sort());
    expect(running.output()).toContain('audit: read again');
  });

  it('what --audit-required has let through survives SIGKILL; a torn line is ended', async () => {
    const argv = ['--audit-log-file', file, '--audit-required'];
    const running = (program = await startProgram(argv));
    const calls = load(running);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await running.kill();
    const answered = await calls.stop();
    expect(answered.length).toBeGreaterThan(10);
    expect(idsOf(file)).toEqual(expect.arrayContaining(answered));

    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, `${whole}{"timestamp":"2026-`);
    const next = (program = await startProgram(argv));
    expect(await list(next, 'after')).toBe(200);
    const lines = readFileSync(file, 'utf8').slice(whole.length).split('\n');
    expect(lines[0]).toBe('{"timestamp":"2026-');
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ request_id: 'after' });
  });

  it('stays in the old file when the new one cannot be opened, and says so', async () => {
    const running = (program = await startProgram(['--audit-log-file', file]));
    renameSync(file, `${file}.1`);
    mkdirSync(file);
    running.child.kill('SIGHUP');
    await until('it is said', () => running.output().includes('audit: kept as it was'));
    expect(running.output()).toContain('EISDIR');
    expect(await list(running, 'still')).toBe(200);
    await until('it is recorded', () => idsOf(`${file}.1`).includes('still'));
  });

  it('does not start without the file it is told to write', async () => {
    const logFile = join(folder, 'missing', 'audit.log');
    const [port = 0, metrics = 0] = await freePorts(2);
    const ports = ['--port', String(port), '--prometheus-port', String(metrics)];
    const ended = await runProgram([...ports, '--audit-log-file', logFile]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`error: --audit-log-file ${JSON.stringify(logFile)}: ENOENT`);
  });

  it('without a file, records are in the log at every level', async () => {
    const running = (program = await startProgram(['--log-level', 'error']));
    expect(await list(running, 'mine')).toBe(200);
    await until('it is in the log', () => running.stdout().includes('"request_id":"mine"'));
    expect(running.stdout()).toContain('"msg":"control_plane_audit"');
  });
});

/** A disk of 64 KiB, where the machine lets us have one. */
function mountTiny(path: string): boolean {
  try {
    mkdirSync(path);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('a disk that is really full', () => {
  it('refuses while it is required and full, goes on when there is room, tears nothing', async () => {
    const disk = join(folder, 'disk');
    // Without the right to mount there is nothing to see here; audit-file has the same with a made-up disk.
    if (!mountTiny(disk)) return;
    try {
      const logFile = join(disk, 'audit.log');
      const running = (program = await startProgram([
        '--audit-log-file',
        logFile,
        '--audit-required',
      ]));
      writeFileSync(join(disk, 'ballast'), Buffer.alloc(48 * 1024));
      let sent = 0;
      await until('it is full', async () => (await list(running, `n-${(sent += 1)}`)) === 503);
      rmSync(join(disk, 'ballast'));
      await until('there is room', async () => (await list(running, `n-${(sent += 1)}`)) === 200);
      running.child.kill('SIGTERM');
      await running.ended;
      const ids = idsOf(logFile).filter((id) => String(id).startsWith('n-'));
      expect(ids).toHaveLength(sent);
      expect(new Set(ids).size).toBe(sent);
      expect(running.output()).toContain('ENOSPC');
    } finally {
      await program?.kill();
      execFileSync('umount', [disk]);
    }
  });
});
