import { UNKNOWN_MODEL, type WorkerType } from '@smg/protocol';
import { type WorkerDirectory, type WorkerPoolView, type WorkerView } from '@smg/plugin-api';

class FakePool implements WorkerPoolView {
  private ready: readonly WorkerView[] | undefined;

  constructor(
    readonly model: string,
    readonly workers: readonly WorkerView[],
  ) {}

  available(): readonly WorkerView[] {
    this.ready ??= Object.freeze(this.workers.filter((worker) => worker.isAvailable));
    return this.ready;
  }
}

/**
 * A {@link WorkerDirectory} over a plain list. Like the real one it hands out the same frozen arrays
 * until something changes; a test that edits a worker in place says so with {@link changed}.
 */
export class FakeDirectory implements WorkerDirectory {
  epoch = 0;
  private workers: readonly WorkerView[] = Object.freeze([]);
  private readonly aliases = new Map<string, string>();
  private readonly pools = new Map<string, FakePool>();

  constructor(workers: readonly WorkerView[] = []) {
    this.workers = Object.freeze([...workers]);
  }

  /** Adds a worker, or replaces the one with the same URL where it stands. */
  add(...added: readonly WorkerView[]): this {
    const next = [...this.workers];
    for (const worker of added) {
      const at = next.findIndex((known) => known.url === worker.url);
      if (at === -1) next.push(worker);
      else next[at] = worker;
    }
    return this.replaceAll(next);
  }

  remove(url: string): this {
    return this.replaceAll(this.workers.filter((worker) => worker.url !== url));
  }

  /** `alias` resolves to `model` unless a worker serves a model of that very name. */
  alias(alias: string, model: string): this {
    this.aliases.set(alias, model);
    return this.changed();
  }

  /** Keys by worker URL; a test fills it. */
  readonly credentials = new Map<string, string>();

  credentialOf(worker: WorkerView): string | undefined {
    return this.credentials.get(worker.url);
  }

  /** Membership or availability changed: a new epoch, new arrays. */
  changed(): this {
    this.epoch += 1;
    this.pools.clear();
    return this;
  }

  all(): readonly WorkerView[] {
    return this.workers;
  }

  byId(id: string): WorkerView | undefined {
    return this.workers.find((worker) => worker.id === id);
  }

  byUrl(url: string): WorkerView | undefined {
    return this.workers.find((worker) => worker.url === url);
  }

  pool(model: string, workerType: WorkerType = 'regular'): WorkerPoolView | undefined {
    const canonical = this.resolve(model);
    if (canonical === undefined) return undefined;
    const key = `${workerType} ${canonical}`;
    let pool = this.pools.get(key);
    if (pool === undefined) {
      const serves = (worker: WorkerView): boolean =>
        worker.workerType === workerType &&
        (canonical === UNKNOWN_MODEL || worker.modelId === canonical);
      pool = new FakePool(canonical, Object.freeze(this.workers.filter(serves)));
      this.pools.set(key, pool);
    }
    return pool;
  }

  private resolve(model: string): string | undefined {
    if (model === UNKNOWN_MODEL) return model;
    const known = (name: string): boolean => this.workers.some((worker) => worker.modelId === name);
    if (known(model)) return model;
    const target = this.aliases.get(model);
    return target !== undefined && known(target) ? target : undefined;
  }

  private replaceAll(workers: readonly WorkerView[]): this {
    this.workers = Object.freeze([...workers]);
    return this.changed();
  }
}
