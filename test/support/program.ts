import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { send } from './http';
import { until } from './until';

export const ROOT = resolve(__dirname, '../..');
const MAIN = join(ROOT, 'dist/src/main.js');
/** Longer than any start or end here; a process that stays longer is killed. */
const MAX_LIFE_MS = 60_000;

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The real program, as a process of its own. */
export interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it wrote so far; both streams. */
  output(): string;
  stdout(): string;
  stderr(): string;
  /** Ends it at once, if it still runs. */
  kill(): Promise<void>;
}

/** Starts `smg` with these arguments. Needs `npm run build`. */
export function spawnProgram(
  argv: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Program {
  if (!existsSync(MAIN)) throw new Error('dist/ is missing: npm run build');
  const child = spawn(process.execPath, [MAIN, ...argv], {
    cwd: options.cwd ?? ROOT,
    env: { PATH: process.env['PATH'], ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
  const lastResort = setTimeout(() => child.kill('SIGKILL'), MAX_LIFE_MS);
  const ended = new Promise<Ended>((resolveEnd) => {
    child.once('close', (code, signal) => {
      clearTimeout(lastResort);
      resolveEnd({ code, signal });
    });
  });
  return {
    child,
    ended,
    output: () => stdout + stderr,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs `smg` to its end. */
export async function runProgram(
  argv: readonly string[],
  options: Parameters<typeof spawnProgram>[1] = {},
): Promise<Ended & { readonly stdout: string; readonly stderr: string }> {
  const program = spawnProgram(argv, options);
  const end = await program.ended;
  return { ...end, stdout: program.stdout(), stderr: program.stderr() };
}

/** `count` loopback ports that were free just now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolveServer, reject) => {
          const server = createServer();
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => {
            resolveServer(server);
          });
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(
    servers.map((server) => new Promise<void>((done) => server.close(() => done()))),
  );
  return ports;
}

/** A gateway process that listens. */
export interface RunningProgram extends Program {
  readonly url: string;
  readonly port: number;
  readonly metricsUrl: string;
  readonly metricsPort: number;
}

/** Starts a gateway on free ports and waits until it answers, with `ready` workers when given. */
export async function startProgram(
  argv: readonly string[],
  options: Parameters<typeof spawnProgram>[1] & { readonly ready?: number } = {},
): Promise<RunningProgram> {
  const [port = 0, metricsPort = 0] = await freePorts(2);
  const program = spawnProgram(
    [
      ...['--host', '127.0.0.1', '--port', String(port)],
      ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metricsPort)],
      ...['--worker-startup-check-interval', '1'],
      ...argv,
    ],
    options,
  );
  const url = `http://127.0.0.1:${port}`;
  const { ready = 0 } = options;
  try {
    await until(
      'the program answers',
      async () => {
        if (program.child.exitCode !== null) throw new Error(`it ended: ${program.output()}`);
        try {
          const answer = await send(`${url}/readiness`);
          if (ready === 0) return answer.status === 200 || answer.status === 503;
          return answer.status === 200 && (answer.json['healthy_workers'] as number) >= ready;
        } catch {
          return false;
        }
      },
      20_000,
    );
  } catch (error) {
    await program.kill();
    throw error;
  }
  return {
    ...program,
    url,
    port,
    metricsPort,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
  };
}
