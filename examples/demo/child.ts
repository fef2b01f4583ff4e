import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The built program: `dist/src/main.js`, seen from `dist/examples/demo`. */
const PROGRAM = join(__dirname, '..', '..', 'src', 'main.js');
const FOLLOW_PARENT = join(__dirname, 'follow-parent.js');

/** Lines of output kept to show when a child fails. */
const KEPT_LINES = 30;
/** Milliseconds a child gets after SIGTERM. */
const GRACE_MS = 8_000;

/** One child process of the demo: the gateway or an engine. */
export class Child {
  private static readonly alive = new Set<Child>();
  readonly exited: Promise<void>;
  hasExited = false;
  private readonly process: ChildProcess;
  private readonly lines: string[] = [];
  private readonly listeners = new Set<(line: string) => void>();

  constructor(
    readonly name: string,
    args: readonly string[],
  ) {
    const argv = ['--require', FOLLOW_PARENT, PROGRAM, ...args];
    this.process = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'pipe'] });
    Child.alive.add(this);
    for (const stream of [this.process.stdout, this.process.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        if (this.lines.length > KEPT_LINES) this.lines.shift();
        for (const listener of this.listeners) listener(line);
      });
    }
    this.process.stdin?.on('error', () => {
      // It ended before we closed its input.
    });
    this.exited = new Promise((resolve) => {
      const gone = (): void => {
        this.hasExited = true;
        Child.alive.delete(this);
        resolve();
      };
      this.process.once('exit', gone);
      this.process.once('error', gone);
    });
  }

  /** The last lines it wrote. */
  get output(): string {
    return this.lines.map((line) => `  ${this.name}: ${line}`).join('\n');
  }

  /** The first JSON line with `event: "listening"`. @throws Error when it exits or takes too long. */
  async listening(timeoutMs: number): Promise<string> {
    let timer: NodeJS.Timeout | undefined;
    let listener: ((line: string) => void) | undefined;
    try {
      return await Promise.race([
        new Promise<string>((resolve) => {
          listener = (line) => {
            const url = /^\{"event":"listening","url":"([^"]+)"/.exec(line)?.[1];
            if (url !== undefined) resolve(url);
          };
          this.listeners.add(listener);
        }),
        this.exited.then(() => {
          throw new Error(`${this.name} ended while starting\n${this.output}`);
        }),
        new Promise<never>((_, reject) => {
          timer = setTimeout(() => {
            reject(new Error(`${this.name} did not start within ${timeoutMs / 1000} s`));
          }, timeoutMs);
        }),
      ]);
    } finally {
      clearTimeout(timer);
      if (listener !== undefined) this.listeners.delete(listener);
    }
  }

  /** SIGTERM, then SIGKILL; resolves once it is gone. */
  async stop(): Promise<void> {
    if (this.hasExited) return;
    this.process.kill('SIGTERM');
    const timer = setTimeout(() => this.process.kill('SIGKILL'), GRACE_MS);
    await this.exited;
    clearTimeout(timer);
  }

  static async stopAll(): Promise<void> {
    await Promise.all([...Child.alive].map((child) => child.stop()));
  }

  /** For the `exit` event, where nothing can be awaited. */
  static killAllNow(): void {
    for (const child of Child.alive) child.process.kill('SIGKILL');
  }
}
