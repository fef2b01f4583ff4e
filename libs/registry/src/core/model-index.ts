import { UNKNOWN_MODEL, type WorkerType } from '@smg/protocol';
import { type Worker } from './worker';
import { WorkerPool, type PoolHost } from './worker-pool';

/**
 * Which workers serve which name. Law: SMG contract 4.2. A registered id shadows an alias of the same
 * name; an alias belongs to its first claimant, and to the next one when that leaves; `unknown` is
 * the pool of every worker and can be nobody's alias. A wildcard worker serves `unknown` alone.
 */
export class ModelIndex {
  readonly #pools = new Map<string, Map<WorkerType, WorkerPool>>();
  readonly #claims = new Map<string, Claim[]>();
  readonly #memberships = new Map<Worker, Membership>();

  constructor(private readonly host: PoolHost) {}

  /** Adds a worker, or moves one whose definition changed; untouched pools keep their identity. */
  put(worker: Worker): void {
    const next = membershipOf(worker);
    const previous = this.#memberships.get(worker) ?? NOWHERE;
    this.#leave(worker, previous, next);
    this.#join(worker, previous, next);
    this.#memberships.set(worker, next);
  }

  delete(worker: Worker): void {
    this.#leave(worker, this.#memberships.get(worker) ?? NOWHERE, NOWHERE);
    this.#memberships.delete(worker);
  }

  pool(name: string, type: WorkerType): WorkerPool | undefined {
    const byType = this.#pools.get(name);
    if (byType !== undefined) return byType.get(type);
    const owner = this.#claims.get(name)?.[0];
    return owner === undefined ? undefined : this.#pools.get(owner.model)?.get(type);
  }

  #leave(worker: Worker, previous: Membership, next: Membership): void {
    const movedType = previous.type !== next.type;
    for (const model of previous.models) {
      if (!movedType && next.models.has(model)) continue;
      const byType = this.#pools.get(model);
      const pool = byType?.get(previous.type);
      pool?.remove(worker);
      if (pool?.workers.length === 0) byType?.delete(previous.type);
      if (byType?.size === 0) this.#pools.delete(model);
    }
    for (const [alias, model] of previous.aliases) {
      if (next.aliases.get(alias) === model) continue;
      const rest = (this.#claims.get(alias) ?? []).filter((claim) => claim.worker !== worker);
      if (rest.length === 0) this.#claims.delete(alias);
      else this.#claims.set(alias, rest);
    }
  }

  #join(worker: Worker, previous: Membership, next: Membership): void {
    const movedType = previous.type !== next.type;
    for (const model of next.models) {
      if (!movedType && previous.models.has(model)) continue;
      this.#poolFor(model, next.type).insert(worker);
    }
    for (const [alias, model] of next.aliases) {
      if (previous.aliases.get(alias) === model) continue;
      const claims = this.#claims.get(alias) ?? [];
      claims.push({ worker, model });
      this.#claims.set(alias, claims);
    }
  }

  #poolFor(model: string, type: WorkerType): WorkerPool {
    let byType = this.#pools.get(model);
    if (byType === undefined) {
      byType = new Map<WorkerType, WorkerPool>();
      this.#pools.set(model, byType);
    }
    let pool = byType.get(type);
    if (pool === undefined) {
      pool = new WorkerPool(model, this.host);
      byType.set(type, pool);
    }
    return pool;
  }
}

interface Claim {
  readonly worker: Worker;
  readonly model: string;
}

interface Membership {
  readonly type: WorkerType;
  readonly models: ReadonlySet<string>;
  /** alias → model it stands for */
  readonly aliases: ReadonlyMap<string, string>;
}

const NOWHERE: Membership = { type: 'regular', models: new Set(), aliases: new Map() };

function membershipOf(worker: Worker): Membership {
  // Requests are carried over HTTP only; other transports can be listed but not routed to.
  if (worker.connectionMode !== 'http') return NOWHERE;
  const models = new Set([UNKNOWN_MODEL]);
  const aliases = new Map<string, string>();
  for (const card of worker.definition.models) {
    models.add(card.id);
    for (const alias of card.aliases ?? []) {
      if (alias !== UNKNOWN_MODEL && !aliases.has(alias)) aliases.set(alias, card.id);
    }
  }
  return { type: worker.workerType, models, aliases };
}
