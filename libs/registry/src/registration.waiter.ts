import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  WORKER_EVENTS,
  type RegistrationOutcome,
  type WorkerEvent,
  type WorkerEvents,
} from '@smg/plugin-api';
import { REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
import { WorkerCommands } from './worker.commands';

const PENDING: RegistrationOutcome = Object.freeze({ kind: 'pending' });
const ROUTABLE: RegistrationOutcome = Object.freeze({ kind: 'routable' });
const CALLED_OFF: RegistrationOutcome = Object.freeze({
  kind: 'failed',
  message: 'the worker was removed meanwhile',
});

/** Looks again, for the last time or not. */
type Look = (isLast: boolean) => void;

/** Lets a client wait until its worker is ready. What is waited for happens without it as well. */
@Injectable()
export class RegistrationWaiter implements OnModuleInit, BeforeApplicationShutdown {
  readonly #waiting = new Map<string, Set<Look>>();
  #unsubscribe: () => void = () => undefined;
  #isStopped = false;

  constructor(
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    private readonly commands: WorkerCommands,
  ) {}

  onModuleInit(): void {
    this.#unsubscribe = this.events.subscribe((event) => {
      this.#follow(event);
    });
    this.commands.onAddSettled((id) => {
      this.#look(id);
    });
  }

  beforeApplicationShutdown(): void {
    this.#isStopped = true;
    this.#unsubscribe();
    for (const looks of [...this.#waiting.values()]) for (const look of [...looks]) look(true);
  }

  /** Never rejects. */
  outcomeOf(id: string, waitMs: number, left: AbortSignal): Promise<RegistrationOutcome> {
    const now = this.#judge(id);
    if (now.kind !== 'pending' || waitMs <= 0 || left.aborted || this.#isStopped) {
      return Promise.resolve(now);
    }
    return new Promise((resolve) => {
      const look: Look = (isLast) => {
        const outcome = this.#judge(id);
        if (outcome.kind === 'pending' && !isLast) return;
        cancel();
        left.removeEventListener('abort', last);
        this.#forget(id, look);
        resolve(outcome);
      };
      const last = (): void => {
        look(true);
      };
      const cancel = this.runtime.clock.after(waitMs, last);
      left.addEventListener('abort', last, { once: true });
      const others = this.#waiting.get(id);
      if (others === undefined) this.#waiting.set(id, new Set([look]));
      else others.add(look);
    });
  }

  #judge(id: string): RegistrationOutcome {
    const known = this.commands.stateOf(id);
    if (known === undefined) return CALLED_OFF;
    if (known.status === 'ready') return ROUTABLE;
    const { job_status: job } = known;
    return job?.job_type === 'AddWorker' && job.status === 'failed'
      ? { kind: 'failed', message: job.message ?? 'failed' }
      : PENDING;
  }

  #follow(event: WorkerEvent): void {
    if (event.kind === 'status_changed' || event.kind === 'removed') this.#look(event.worker.id);
  }

  #look(id: string): void {
    for (const look of [...(this.#waiting.get(id) ?? [])]) look(false);
  }

  #forget(id: string, look: Look): void {
    const looks = this.#waiting.get(id);
    looks?.delete(look);
    if (looks?.size === 0) this.#waiting.delete(id);
  }
}
