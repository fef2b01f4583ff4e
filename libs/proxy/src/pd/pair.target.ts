import { type WorkerDirectory, type WorkerPoolView } from '@smg/plugin-api';
import { type PdOptions } from './pd.options';

/** Paths that a pair can serve. Source: SMG contract 6.1. */
const SERVED: ReadonlySet<string> = new Set([
  '/generate',
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/messages',
  '/v1/responses',
  '/rerank',
]);

/** The workers of both legs. */
export interface PairPools {
  /** Canonical. */
  readonly model: string;
  /** Undefined: the leg has no workers. */
  readonly prefill: WorkerPoolView | undefined;
  readonly decode: WorkerPoolView | undefined;
}

/**
 * Where a request goes: to a pair, to a regular worker (undefined), or nowhere, because a pair cannot
 * serve its route. Beside regular workers, the draw is weighted by registered workers, ready or not.
 * @param draw uniform in [0, 1).
 */
export function pairTarget(
  directory: WorkerDirectory,
  options: PdOptions,
  path: string,
  model: string,
  draw: number,
): PairPools | 'unsupported' | undefined {
  const prefill = directory.pool(model, 'prefill');
  const decode = directory.pool(model, 'decode');
  const pools = { model: (prefill ?? decode)?.model ?? model, prefill, decode };
  if (options.mode === 'only') return SERVED.has(path) ? pools : 'unsupported';
  const regular = directory.pool(model, 'regular')?.workers.length ?? 0;
  return besideRegular(pools, regular, SERVED.has(path), draw);
}

function besideRegular(
  pools: PairPools,
  regular: number,
  isServed: boolean,
  draw: number,
): PairPools | 'unsupported' | undefined {
  const { prefill, decode } = pools;
  if (prefill === undefined || decode === undefined) {
    const isHalf = (prefill ?? decode) !== undefined;
    return isHalf && regular === 0 ? pools : undefined;
  }
  if (!isServed) return regular > 0 ? undefined : 'unsupported';
  const paired = prefill.workers.length + decode.workers.length;
  return draw * (paired + regular) < paired ? pools : undefined;
}
