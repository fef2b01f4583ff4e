/** An engine's answer to `/v1/loads`, relayed as it is. Shape: SMG contract 3.9. */
export interface LoadDocument {
  readonly loads?: unknown;
}

/**
 * Used tokens of an engine, or of one of its ranks; -1 when it gives no absolute counts.
 * @param rank of the worker; an engine that reports without ranks is summed.
 */
export function sumOfLoads(document: LoadDocument | undefined, rank: number | undefined): number {
  const loads = Array.isArray(document?.loads) ? (document.loads as unknown[]) : [];
  let all = 0;
  let known = 0;
  let own: number | undefined;
  for (const load of loads) {
    if (typeof load !== 'object' || load === null) continue;
    const { num_used_tokens: used, dp_rank: dpRank } = load as Record<string, unknown>;
    if (typeof used !== 'number' || !Number.isFinite(used)) continue;
    all += used;
    known++;
    if (rank !== undefined && dpRank === rank) own = used;
  }
  if (own !== undefined) return own;
  return known === 0 ? -1 : all;
}
