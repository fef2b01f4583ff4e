import { type Worker } from './worker';

/** Workers that are alternatives to each other: one model, one role, one transport. */
export interface LoadGroup {
  readonly key: string;
  readonly workers: Set<Worker>;
  /** Somebody needs the reports of its workers. */
  isWanted: boolean;
  isScheduled: boolean;
  cancel: () => void;
}

/** Groups by what they have in common. */
export class LoadGroups {
  readonly #groups = new Map<string, LoadGroup>();

  /** @param isWanted of every group from its beginning. */
  constructor(private readonly isWanted: boolean) {}

  /** The group a worker belongs to, made when there is none. */
  of({ modelId, workerType, connectionMode }: Worker): LoadGroup {
    const key = `${modelId}\0${workerType}\0${connectionMode}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = {
        key,
        workers: new Set(),
        isWanted: this.isWanted,
        isScheduled: false,
        cancel: () => undefined,
      };
      this.#groups.set(key, group);
    }
    return group;
  }

  delete(group: LoadGroup): void {
    this.#groups.delete(group.key);
  }
}
