import { spawn } from 'node:child_process';
import { type Writable } from 'node:stream';
import { notFound } from './backend-check';
import { type EngineCommand } from './engine-command';
import { prefixOutput } from './prefix-output';
import { ProcessGroup } from './process-group';

/** Between looks whether what an engine left behind is gone. */
const LEFT_BEHIND_MS = 1000;

/** One engine to start. */
export interface EnginePlan {
  readonly index: number;
  /** Where the gateway reaches it. */
  readonly url: string;
  readonly command: EngineCommand;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** An engine that was started, in a process group of its own. */
export class EngineProcess {
  /** How it ended, in words such as `exit code 1`; pending while it runs. */
  readonly ended: Promise<string>;
  /** Resolves when its last line is written. */
  readonly written: Promise<unknown>;
  readonly pid: number | undefined;
  private readonly group: ProcessGroup | undefined;
  private isOver = false;

  /** Starts it. A program that is not there ends at once. @param output gets its lines, prefixed. */
  constructor(
    readonly plan: EnginePlan,
    output: Writable,
  ) {
    const { file, args } = plan.command;
    const child = spawn(file, [...args], {
      // A session and group of its own: Ctrl-C goes to us alone, and its children can be ended with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: plan.env,
    });
    this.pid = child.pid;
    this.group = child.pid === undefined ? undefined : new ProcessGroup(child.pid);
    const prefix = `[engine ${plan.index}] `;
    this.written = Promise.all([
      prefixOutput(child.stdout, output, prefix),
      prefixOutput(child.stderr, output, prefix),
    ]);
    this.ended = new Promise((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        this.isOver = true;
        resolve(error.code === 'ENOENT' ? notFound(file) : (error.code ?? error.message));
      });
      child.once('exit', (code, signal) => {
        this.isOver = true;
        // What it leaves behind is of no use without it.
        this.terminate();
        this.untilGone();
        resolve(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`);
      });
    });
  }

  /** With others that go on, its group must be let go of before its number is given to strangers. */
  private untilGone(): void {
    const look = setInterval(() => {
      if (!this.isAlive) clearInterval(look);
    }, LEFT_BEHIND_MS);
    look.unref();
  }

  get name(): string {
    return `engine ${this.plan.index} (${this.plan.url})`;
  }

  /** Whether anything of it is left. */
  get isAlive(): boolean {
    return !this.isOver || this.group?.isAlive === true;
  }

  /** Whether the engine itself runs; children of it may outlive it for a moment. */
  get isRunning(): boolean {
    return !this.isOver;
  }

  terminate(): void {
    this.group?.signal('SIGTERM');
  }

  kill(): void {
    this.group?.signal('SIGKILL');
  }

  /** To be called when nothing of it is left. */
  release(): void {
    this.group?.release();
  }
}
