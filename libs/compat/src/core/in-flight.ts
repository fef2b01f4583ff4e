import { type RequestTracker, type TrackedRequest, type WorkerView } from '@smg/plugin-api';

/** Requests followed at a time; beyond, a request is not followed. Some 200 bytes each. */
export const MAX_FOLLOWED = 65_536;
/** Characters of an id; a longer one is not followed. */
const MAX_RID = 256;
/** Ids of one batch. */
const MAX_BATCH = 1024;

/** One id at one worker; several requests may have the same id. */
class Followed {
  next: Followed | undefined;

  constructor(
    readonly rid: string,
    readonly worker: WorkerView,
  ) {}
}

/** Where requests run, by the id their clients gave them. Bounded; empty when nothing runs. */
export class InFlight implements RequestTracker {
  private readonly byRid = new Map<string, Followed>();
  private count = 0;

  constructor(private readonly most = MAX_FOLLOWED) {}

  /** Ids followed now. */
  get size(): number {
    return this.count;
  }

  begin(rid: unknown, worker: WorkerView): TrackedRequest | undefined {
    if (typeof rid === 'string') {
      const followed = this.add(rid, worker);
      return followed === undefined ? undefined : new OneRequest(this, followed);
    }
    if (!Array.isArray(rid) || rid.length === 0 || rid.length > MAX_BATCH) return undefined;
    const batch: Followed[] = [];
    for (const one of rid as readonly unknown[]) {
      const followed = typeof one === 'string' ? this.add(one, worker) : undefined;
      if (followed !== undefined) batch.push(followed);
    }
    return new Batch(this, batch);
  }

  /** Workers that have a request of this id. */
  workersOf(rid: string): ReadonlySet<WorkerView> {
    const workers = new Set<WorkerView>();
    collect(this.byRid.get(rid), workers);
    return workers;
  }

  /** Workers that have a request whose id begins so. Looks at every id: not for a hot path. */
  workersOfPrefix(prefix: string): ReadonlySet<WorkerView> {
    const workers = new Set<WorkerView>();
    for (const [rid, followed] of this.byRid)
      if (rid.startsWith(prefix)) collect(followed, workers);
    return workers;
  }

  /** @internal */
  drop(followed: Followed): void {
    const { rid } = followed;
    let previous: Followed | undefined;
    for (let at = this.byRid.get(rid); at !== undefined; previous = at, at = at.next) {
      if (at !== followed) continue;
      this.count--;
      if (previous !== undefined) previous.next = at.next;
      else if (at.next === undefined) this.byRid.delete(rid);
      else this.byRid.set(rid, at.next);
      return;
    }
  }

  private add(rid: string, worker: WorkerView): Followed | undefined {
    if (rid === '' || rid.length > MAX_RID || this.count >= this.most) return undefined;
    const followed = new Followed(rid, worker);
    followed.next = this.byRid.get(rid);
    this.byRid.set(rid, followed);
    this.count++;
    return followed;
  }
}

class OneRequest implements TrackedRequest {
  constructor(
    private readonly all: InFlight,
    private readonly followed: Followed,
  ) {}

  over(): void {
    this.all.drop(this.followed);
  }
}

class Batch implements TrackedRequest {
  constructor(
    private readonly all: InFlight,
    private readonly batch: readonly Followed[],
  ) {}

  over(): void {
    for (const followed of this.batch) this.all.drop(followed);
  }
}

function collect(followed: Followed | undefined, workers: Set<WorkerView>): void {
  for (let at = followed; at !== undefined; at = at.next) workers.add(at.worker);
}
