import { type ChildProcess, fork } from 'node:child_process';

/** A question to a child process; `id` pairs it with its answer. */
interface Ask {
  readonly id: number;
  readonly command: string;
  readonly payload: unknown;
}

/** An answer, or why there is none. */
interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** Handlers of a child, by command. */
export type Commands = Record<string, (payload: never) => unknown>;

/**
 * Child side: answers the parent's questions. The child ends with its parent: when the IPC channel
 * closes, for whatever reason, `onOrphaned` runs and the process exits.
 */
export function serveParent(
  commands: Commands,
  onOrphaned: () => Promise<void> = async () => undefined,
): void {
  process.on('message', (message: Ask) => {
    const handler = commands[message.command] as ((payload: unknown) => unknown) | undefined;
    Promise.resolve()
      .then(() => {
        if (handler === undefined) throw new Error(`unknown command ${message.command}`);
        return handler(message.payload);
      })
      .then(
        (result) => ({ id: message.id, result }),
        (error: unknown) => ({ id: message.id, error: String(error) }),
      )
      .then((answer: Answer) => {
        // With a callback, an answer to a parent that has just gone is no uncaught error.
        if (process.connected) process.send!(answer, undefined, undefined, () => undefined);
      })
      .catch(() => undefined);
  });
  // Ctrl-C reaches the whole foreground group; the parent decides what ends when.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  process.on('disconnect', () => {
    void onOrphaned().finally(() => process.exit(0));
  });
}

/** Parent side: a forked script that answers questions. */
export class RpcChild {
  private readonly waiting = new Map<number, Waiter>();
  private readonly child: ChildProcess;
  private nextId = 1;
  private ended = false;

  /** @param script absolute path of a compiled script that calls {@link serveParent}. */
  constructor(
    script: string,
    readonly name: string,
  ) {
    this.child = fork(script, [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
      // Structured clone: JSON would turn NaN, "could not be measured", into null, which counts as 0.
      serialization: 'advanced',
    });
    this.child.on('message', (answer: Answer) => this.settle(answer));
    this.child.on('error', (error) => this.abandon(error.message));
    this.child.on('exit', (code, signal) => this.abandon(`ended (${signal ?? code ?? '?'})`));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Asks; rejects when the child answers with an error, ends, or is silent for too long. */
  ask<T>(command: string, payload: unknown, timeoutMs: number): Promise<T> {
    if (this.ended) return Promise.reject(new Error(`${this.name} has ended`));
    const id = this.nextId++;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error(`${this.name} did not answer '${command}' within ${timeoutMs} ms`));
      }, timeoutMs);
      this.waiting.set(id, { resolve: resolve as Waiter['resolve'], reject, timer });
      this.child.send({ id, command, payload } satisfies Ask, (error) => {
        if (error !== null) this.settle({ id, error: error.message });
      });
    });
  }

  /** Closes the channel, which ends the child; after `graceMs` it is killed. */
  async stop(graceMs: number): Promise<void> {
    if (this.ended) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.child.kill('SIGKILL'), graceMs);
      this.child.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      if (this.child.connected) this.child.disconnect();
    });
  }

  /** Last resort, synchronous. */
  kill(): void {
    if (!this.ended) this.child.kill('SIGKILL');
  }

  private settle(answer: Answer): void {
    const waiter = this.waiting.get(answer.id);
    if (waiter === undefined) return;
    this.waiting.delete(answer.id);
    clearTimeout(waiter.timer);
    if (answer.error === undefined) waiter.resolve(answer.result);
    else waiter.reject(new Error(`${this.name}: ${answer.error}`));
  }

  private abandon(reason: string): void {
    this.ended = true;
    for (const waiter of this.waiting.values()) {
      clearTimeout(waiter.timer);
      waiter.reject(new Error(`${this.name} ${reason}`));
    }
    this.waiting.clear();
  }
}
