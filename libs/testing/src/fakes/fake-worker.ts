import { createHash } from 'node:crypto';
import { UNKNOWN_MODEL } from '@smg/protocol';
import { type WorkerView } from '@smg/plugin-api';

/** A {@link WorkerView} whose members a test may change; no registry stands behind it. */
export type FakeWorker = { -readonly [K in keyof WorkerView]: WorkerView[K] };

/** What a test says of a worker; labels may be a plain object. */
export type FakeWorkerOptions = Partial<Omit<WorkerView, 'labels'>> & {
  readonly labels?: ReadonlyMap<string, string> | Readonly<Record<string, string>>;
};

const DP_SUFFIX = /^(.*)@(\d+)$/;

/** A UUIDv7-shaped id that depends on the URL alone, so that failures read the same in every run. */
function idOf(url: string): string {
  const hex = createHash('sha256').update(url).digest('hex');
  return `00000000-0000-7000-8000-${hex.slice(0, 12)}`;
}

function labelsOf(labels: FakeWorkerOptions['labels']): ReadonlyMap<string, string> {
  if (labels === undefined) return new Map();
  return labels instanceof Map ? labels : new Map(Object.entries(labels));
}

/**
 * A ready, idle worker. `baseUrl` and `dpRank` follow from a `url` such as `http://h:1@3` unless given.
 *
 * @example `fakeWorker({ url: 'http://a:1', labels: { tier: 'gold' }, load: 3 })`
 */
export function fakeWorker(options: FakeWorkerOptions = {}): FakeWorker {
  const url = options.url ?? 'http://worker-1:8000';
  const rank = DP_SUFFIX.exec(url);
  return {
    id: idOf(url),
    url,
    baseUrl: rank?.[1] ?? url,
    modelId: UNKNOWN_MODEL,
    workerType: 'regular',
    connectionMode: 'http',
    runtime: 'sglang',
    priority: 50,
    cost: 1,
    dpRank: rank === null ? undefined : Number(rank[2]),
    dpSize: undefined,
    status: 'ready',
    load: 0,
    keysInFlight: 0,
    requestsOf: () => 0,
    isAvailable: true,
    isReady: true,
    ...options,
    labels: labelsOf(options.labels),
  };
}

/** `count` workers `http://w0:8000`, `http://w1:8000`, …, each with the same further options. */
export function fakeWorkers(count: number, options: FakeWorkerOptions = {}): FakeWorker[] {
  return Array.from({ length: count }, (_, index) =>
    fakeWorker({ ...options, url: `http://w${index}:8000` }),
  );
}
