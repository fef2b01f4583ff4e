import { type WorkerView } from '@smg/plugin-api';
import { type InFlight } from './in-flight';

/** What an `/abort_request` asks for. */
export type AbortOrder =
  | { readonly kind: 'all' }
  | { readonly kind: 'some'; readonly rids: readonly string[]; readonly isPrefix: boolean };

/** Reads the body of an `/abort_request`. @returns why it is none, where it is none. */
export function readAbortOrder(body: Buffer): AbortOrder | string {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return 'the body is not valid JSON';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'the body is not a JSON object';
  }
  const { rid, abort_all: all, prefix } = value as Readonly<Record<string, unknown>>;
  if (all === true) return { kind: 'all' };
  const given: readonly unknown[] = Array.isArray(rid) ? rid : [rid];
  const rids = given.filter((it): it is string => typeof it === 'string' && it !== '');
  return rids.length === 0 || rids.length !== given.length
    ? 'the body has neither a rid nor abort_all: true'
    : { kind: 'some', rids, isPrefix: prefix === true };
}

/**
 * The engines that have what is to be aborted, one worker each; undefined: nobody knows, so any may. An
 * order that names an id nobody follows goes to all, whatever is known of the others it names.
 */
export function enginesOf(
  order: AbortOrder,
  followed: InFlight | undefined,
  workers: readonly WorkerView[],
): readonly WorkerView[] | undefined {
  if (order.kind === 'all' || followed === undefined) return undefined;
  const engines = new Map<string, WorkerView>();
  let isPaired = false;
  for (const rid of order.rids) {
    const found = order.isPrefix ? followed.workersOfPrefix(rid) : followed.workersOf(rid);
    if (found.size === 0) return undefined;
    for (const worker of found) {
      engines.set(worker.baseUrl, worker);
      isPaired ||= worker.workerType === 'decode';
    }
  }
  // Of a pair only the engine that answers is followed; any of the others may have the first half.
  if (isPaired) {
    for (const worker of workers) {
      if (worker.workerType === 'prefill') engines.set(worker.baseUrl, worker);
    }
  }
  return [...engines.values()];
}

/** One worker for each base URL. */
export function onePerEngine(workers: readonly WorkerView[]): readonly WorkerView[] {
  const engines = new Map<string, WorkerView>();
  for (const worker of workers) {
    if (!engines.has(worker.baseUrl)) engines.set(worker.baseUrl, worker);
  }
  return [...engines.values()];
}
