import { type RoutingPolicyParameters, type WorkerView } from '@smg/plugin-api';

/**
 * Whether KV caches of the fleet are so full, or so unevenly full, that load alone should decide.
 * Never while no engine reports, nor with both thresholds at 1, their default.
 */
export function isUnderPressure(
  candidates: readonly WorkerView[],
  parameters: RoutingPolicyParameters,
): boolean {
  const { balanceTokenUsageThreshold, overloadTokenUsageThreshold, loads } = parameters;
  if (balanceTokenUsageThreshold >= 1 && overloadTokenUsageThreshold >= 1) return false;
  let low = Infinity;
  let high = -Infinity;
  for (const worker of candidates) {
    const report = loads.reportOf(worker);
    if (report === undefined) continue;
    if (report.tokenUsage < low) low = report.tokenUsage;
    if (report.tokenUsage > high) high = report.tokenUsage;
  }
  if (high < low) return false;
  const isOverloaded = overloadTokenUsageThreshold < 1 && high > overloadTokenUsageThreshold;
  return (
    isOverloaded || (balanceTokenUsageThreshold < 1 && high - low > balanceTokenUsageThreshold)
  );
}
