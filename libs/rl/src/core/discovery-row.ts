import { type EngineCapabilities, type WorkerView } from '@smg/plugin-api';
import { capabilitiesOf, type RlCapabilities } from './capabilities';
import { type ControlState, type VersionSource } from './engine-state';
import { engineName } from './selector-keys';
import { type VersionTable } from './version-table';
import { parseVersion } from './weight-version';

/** One engine as `/v1/rl/workers` shows it; optional members are `null`, never left out. */
export interface RlWorkerRow {
  readonly id: string;
  readonly url: string;
  readonly base_url: string;
  readonly engine: string;
  readonly engine_version: string | null;
  readonly model_id: string;
  readonly worker_type: string;
  readonly connection_mode: string;
  readonly tp_size: number | null;
  readonly dp_size: number | null;
  readonly pp_size: number | null;
  readonly dp_ranks: number;
  readonly role: string | null;
  readonly health: string;
  readonly weight_version: string | null;
  readonly version_source: VersionSource | null;
  readonly control: ControlState;
  readonly labels: Readonly<Record<string, string>>;
  readonly capabilities: RlCapabilities;
}

/** What rows are made from besides the workers. */
export interface RowSources {
  readonly table: VersionTable;
  /** Capabilities of an engine by adapter name. */
  readonly capabilities: (engine: string) => EngineCapabilities | undefined;
}

/** Workers that are one engine: the one that stands for it, and how many ranks it has. */
export interface EngineGroup {
  /** Lowest rank. */
  readonly worker: WorkerView;
  readonly ranks: number;
}

/**
 * One group per engine: data-parallel ranks of a base URL collapse into their lowest one; a worker
 * without a rank stands alone, even at the same address. Sorted by base URL, then URL.
 */
export function collapseRanks(workers: readonly WorkerView[]): readonly EngineGroup[] {
  const groups = new Map<string, { worker: WorkerView; ranks: number }>();
  for (const worker of workers) {
    const key = worker.dpRank === undefined ? `one ${worker.url}` : `dp ${worker.baseUrl}`;
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { worker, ranks: 1 });
      continue;
    }
    group.ranks++;
    if ((worker.dpRank ?? 0) < (group.worker.dpRank ?? 0)) group.worker = worker;
  }
  return [...groups.values()].sort(
    (a, b) => order(a.worker.baseUrl, b.worker.baseUrl) || order(a.worker.url, b.worker.url),
  );
}

/** Ranks of the engine that `worker` is part of; 1 for an engine that is one worker. */
export function ranksOf(worker: WorkerView, workers: readonly WorkerView[]): number {
  if (worker.dpRank === undefined) return 1;
  let ranks = 0;
  for (const other of workers) {
    if (other.dpRank !== undefined && other.baseUrl === worker.baseUrl) ranks++;
  }
  return Math.max(1, ranks);
}

/** The row of one engine, under the id and URL of `worker`. Source: SMG RL contract 2.1. */
export function engineRow(worker: WorkerView, ranks: number, sources: RowSources): RlWorkerRow {
  const { labels } = worker;
  const state = sources.table.get(worker.baseUrl);
  const version = state === undefined ? labels.get('weight_version') : state.version?.text;
  return {
    id: worker.id,
    url: worker.url,
    base_url: worker.baseUrl,
    engine: engineName(worker),
    engine_version: labels.get('version') ?? null,
    model_id: worker.modelId,
    worker_type: worker.workerType,
    connection_mode: worker.connectionMode,
    tp_size: size(labels.get('tp_size')),
    dp_size: size(labels.get('dp_size')),
    pp_size: size(labels.get('pp_size')),
    dp_ranks: ranks,
    role: labels.get('role') ?? null,
    health: worker.status,
    weight_version: version ?? null,
    version_source: state?.source ?? null,
    control: state?.control ?? 'active',
    labels: Object.fromEntries(labels),
    capabilities: capabilitiesOf(sources.capabilities(worker.runtime), labels),
  };
}

/** `{"protocol_version": 1, "workers": …, "total": …}`. */
export interface RlWorkersAnswer {
  readonly protocol_version: 1;
  readonly workers: readonly RlWorkerRow[];
  readonly total: number;
}

export function workersAnswer(
  groups: readonly EngineGroup[],
  sources: RowSources,
): RlWorkersAnswer {
  const workers = groups.map((group) => engineRow(group.worker, group.ranks, sources));
  return { protocol_version: 1, workers, total: workers.length };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A label as an unsigned number; null when it is not one a JSON reader keeps exactly. */
function size(label: string | undefined): number | null {
  return label === undefined ? null : (parseVersion(label).small ?? null);
}
