import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { RpcChild } from './child-rpc';
import { type BackendPace, type LeashStart, type LeashStarted } from './messages';

/** A process under test. */
export interface Held {
  readonly name: string;
  /** Leader of its process group. */
  readonly pid: number;
  readonly spawnedAtUs: number;
  readonly stdoutPath: string;
  readonly stderrPath: string;
}

/** Time helpers get to answer a short question. */
const SHORT_MS = 5_000;

/**
 * Everything that must be gone at the end: helper processes, processes under test, the temporary
 * directory. `close` ends them in order; `abandon` is synchronous and fit for an exit handler.
 */
export class Workshop {
  readonly directory = mkdtempSync(join(tmpdir(), 'smg-bench-'));
  readonly backend: RpcChild;
  readonly generator: RpcChild;
  private readonly leash: RpcChild;
  private readonly held = new Map<number, Held>();
  private serial = 0;
  private pinning: boolean;

  constructor(pin: boolean) {
    this.leash = new RpcChild(join(__dirname, 'leash.js'), 'leash');
    this.backend = new RpcChild(join(__dirname, 'backend.js'), 'backend');
    this.generator = new RpcChild(join(__dirname, 'load-generator.js'), 'load generator');
    this.pinning = pin && process.platform === 'linux' && cpus().length > 1;
  }

  get isPinning(): boolean {
    return this.pinning;
  }

  /** Port of the backend. Clients and backend share the first core. */
  async listen(): Promise<number> {
    await this.leash.ask('adopt', this.directory, SHORT_MS);
    this.pin(this.backend.pid, 0);
    this.pin(this.generator.pid, 0);
    return this.backend.ask<number>('listen', {}, SHORT_MS);
  }

  /** Further ports of the backend, as if there were more engines. */
  async listenMore(count: number): Promise<readonly number[]> {
    const ports: number[] = [];
    for (let i = 0; i < count; i += 1) {
      ports.push(await this.backend.ask<number>('listen', {}, SHORT_MS));
    }
    return ports;
  }

  async pace(pace: BackendPace): Promise<void> {
    await this.backend.ask('pace', pace, SHORT_MS);
  }

  openStreams(): Promise<number> {
    return this.backend.ask<number>('openStreams', {}, SHORT_MS);
  }

  async start(name: string, command: string, args: readonly string[]): Promise<Held> {
    this.serial += 1;
    const stdoutPath = join(this.directory, `${name}-${this.serial}.out`);
    const stderrPath = join(this.directory, `${name}-${this.serial}.err`);
    const request: LeashStart = { command, args, cwd: this.directory, stdoutPath, stderrPath };
    const started = await this.leash.ask<LeashStarted>('start', request, SHORT_MS);
    const held: Held = { name, ...started, stdoutPath, stderrPath };
    this.held.set(held.pid, held);
    return held;
  }

  async isAlive(held: Held): Promise<boolean> {
    return this.leash.ask<boolean>('alive', held.pid, SHORT_MS);
  }

  async stop(held: Held): Promise<void> {
    await this.leash.ask('stop', held.pid, 2 * SHORT_MS);
    this.held.delete(held.pid);
  }

  /** Moves a process under test, all its threads, to the last core. */
  pinUnderTest(pids: readonly number[]): void {
    for (const pid of pids) this.pin(pid, cpus().length - 1);
  }

  /** Empties the log of a process, which writes with O_APPEND, so that logs stay small. */
  trimLog(held: Held): void {
    truncateSync(held.stdoutPath, 0);
  }

  /** The end of what a process said, for a message to the user. */
  lastWords(held: Held): string {
    return [held.stderrPath, held.stdoutPath]
      .map((path) => readFileSync(path, 'utf8').trim().slice(-600))
      .filter((text) => text !== '')
      .join('\n');
  }

  async close(): Promise<void> {
    // The leash ends what it holds as soon as its channel closes.
    await Promise.all([
      this.leash.stop(3 * SHORT_MS),
      this.backend.stop(SHORT_MS),
      this.generator.stop(SHORT_MS),
    ]);
    this.held.clear();
    rmSync(this.directory, { recursive: true, force: true });
  }

  abandon(): void {
    for (const pid of this.held.keys()) {
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        // It has ended on its own.
      }
    }
    this.held.clear();
    for (const child of [this.generator, this.backend, this.leash]) child.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private pin(pid: number, core: number): void {
    if (!this.pinning) return;
    try {
      execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
    } catch {
      this.pinning = false;
    }
  }
}

/** A loopback port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
