import { type WorkerView } from '@smg/plugin-api';

// Which prefill and decode workers can work as a pair. Filters come first, on either leg; then runtimes
// are compared, so that a request that one runtime could serve is not refused over another.

/** Runtimes that nobody has recognised: such an engine may be the peer of any. */
const UNKNOWN: ReadonlySet<string> = new Set(['', 'unspecified', 'generic']);

type Legs = readonly [prefill: readonly WorkerView[], decode: readonly WorkerView[]];

/** vLLM hands the cache over after prefill; the others while both legs run. */
export function isSequential(prefill: WorkerView): boolean {
  return prefill.runtime === 'vllm';
}

export function canPair(prefill: WorkerView, decode: WorkerView): boolean {
  return fits(prefill.runtime, decode.runtime);
}

function fits(one: string, other: string): boolean {
  return one === other || UNKNOWN.has(one) || UNKNOWN.has(other);
}

/** The workers of either leg that have a peer on the other; the same arrays when all of them do. */
export function withPeers([prefill, decode]: Legs): Legs {
  const only = prefill[0]?.runtime;
  if (only !== undefined && allRun(prefill, only) && allRun(decode, only)) return [prefill, decode];
  return [
    prefill.filter((worker) => decode.some((peer) => canPair(worker, peer))),
    decode.filter((worker) => prefill.some((peer) => canPair(peer, worker))),
  ];
}

/** Decode workers that the chosen prefill worker can work with. */
export function peersOf(prefill: WorkerView, decode: readonly WorkerView[]): readonly WorkerView[] {
  for (const worker of decode) {
    if (!canPair(prefill, worker)) return decode.filter((peer) => canPair(prefill, peer));
  }
  return decode;
}

function allRun(workers: readonly WorkerView[], runtime: string): boolean {
  for (const worker of workers) if (worker.runtime !== runtime) return false;
  return true;
}
