import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, ROOT, spawnProgram, type Program } from '../../support/program';
import { until } from '../../support/until';

/**
 * A program that behaves like an engine that starts badly, or ends badly. It writes `<port>.pid` and
 * its child's `<port>.child`, and `<port>.json` with what it was given.
 */
const SCRIPT = `
const { createServer } = require('node:http');
const { spawn } = require('node:child_process');
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const args = process.argv.slice(2);
const valueOf = (flag) => args[args.lastIndexOf(flag) + 1];
const has = (flag) => args.includes(flag);
const port = Number(valueOf('--port'));
const note = (name, text) => writeFileSync(join(__dirname, port + '.' + name), text);
note('json', JSON.stringify({ args, gpus: process.env.CUDA_VISIBLE_DEVICES, env: Object.keys(process.env) }));
note('pid', String(process.pid));
console.log('out of ' + port);
console.error('err of ' + port);
process.stdout.write('half a line, ');
if (has('--with-child')) {
  const child = spawn('sleep', ['300'], { stdio: 'ignore' });
  note('child', String(child.pid));
}
if (has('--crash-after')) setTimeout(() => process.exit(7), Number(valueOf('--crash-after')));
const since = Date.now();
createServer((request, response) => {
  if (request.url === '/crash') process.exit(11);
  const isReady = Date.now() - since >= Number(has('--ready-after') ? valueOf('--ready-after') : 0);
  if (request.url === '/health') response.writeHead(isReady ? 200 : 503).end();
  else if (request.url === '/v1/models') response.end(JSON.stringify({ data: [{ id: 'm' }] }));
  else response.writeHead(404).end();
}).listen(port, valueOf('--host'));
`;

/** A folder with the program and what its processes noted. */
export class FakeEngines {
  private readonly folder = mkdtempSync(join(tmpdir(), 'smg-serve-'));
  private readonly script = join(this.folder, 'engine.js');

  constructor() {
    writeFileSync(this.script, SCRIPT);
  }

  get command(): string {
    return `'${process.execPath}' '${this.script}'`;
  }

  /** A folder for the PATH whose `python3` has every module, each of them the fake engine. */
  python(): string {
    const path = join(this.folder, 'python3');
    writeFileSync(path, `#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec ${this.command} "$@"\n`);
    chmodSync(path, 0o755);
    return this.folder;
  }

  /** Pids of engines and of their children. */
  pids(): number[] {
    return readdirSync(this.folder)
      .filter((name) => /\.(pid|child)$/.test(name))
      .map((name) => Number(readFileSync(join(this.folder, name), 'utf8')))
      .filter((pid) => pid > 0);
  }

  /** What each engine was given, by port. */
  notes(): { port: number; args: string[]; gpus: string; env: string[] }[] {
    return readdirSync(this.folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => ({
        port: Number(name.split('.', 1)[0]),
        ...JSON.parse(readFileSync(join(this.folder, name), 'utf8')),
      }))
      .sort((a, b) => a.port - b.port);
  }

  alive(): number[] {
    return this.pids().filter(isAlive);
  }

  /** Kills what a failed test left. */
  dispose(): void {
    for (const pid of this.alive()) process.kill(pid, 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A process that was not reaped by whoever inherited it is gone for us. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^\d+ \(.*\) Z/.test(stat);
  } catch {
    return false;
  }
}

export interface Serving extends Program {
  readonly url: string;
  readonly port: number;
  readonly basePort: number;
}

/** Starts `smg serve` on free ports. */
export async function spawnServe(
  argv: readonly string[],
  options: Parameters<typeof spawnProgram>[1] = {},
): Promise<Serving> {
  const [port = 0, metrics = 0, basePort = 0] = await freePorts(3);
  const program = spawnProgram(
    [
      'serve',
      ...['--port', String(port), '--worker-base-port', String(Math.min(basePort, 65_000))],
      ...['--router-prometheus-host', '127.0.0.1', '--router-prometheus-port', String(metrics)],
      ...['--router-shutdown-grace-period-secs', '1'],
      ...argv,
    ],
    options,
  );
  return { ...program, port, basePort, url: `http://127.0.0.1:${port}` };
}

export function untilSaid(program: Program, text: string, timeoutMs = 20_000): Promise<void> {
  return until(
    `it says ${text}`,
    () => {
      if (program.output().includes(text)) return true;
      if (program.child.exitCode !== null) throw new Error(`it ended: ${program.output()}`);
      return false;
    },
    timeoutMs,
  );
}

export const MOCK_ENGINE = `'${process.execPath}' '${join(ROOT, 'dist/src/main.js')}' mock-engine`;
