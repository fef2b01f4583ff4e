import { type OverloadWire } from '@smg/protocol';
import { type WorkerLoadReport } from '@smg/plugin-api';

/** From where on a worker counts as overloaded; a signal left out is not looked at. */
export interface OverloadLimits {
  /** >= 1 */
  readonly waitingRequests?: number | undefined;
  /** In (0, 1]. */
  readonly tokenUsage?: number | undefined;
}

/** A worker's own limits over the shared ones, signal by signal; undefined: it is not protected. */
export function effectiveOverload(
  own: OverloadWire | undefined,
  shared: OverloadLimits | undefined,
): OverloadLimits | undefined {
  const waitingRequests = own?.waiting_requests ?? shared?.waitingRequests;
  const tokenUsage = own?.token_usage ?? shared?.tokenUsage;
  return waitingRequests === undefined && tokenUsage === undefined
    ? undefined
    : { waitingRequests, tokenUsage };
}

/** Either signal suffices, and reaching a limit counts. Source: SMG contract 3.9. */
export function isOverloaded(
  limits: OverloadLimits | undefined,
  report: WorkerLoadReport | undefined,
): boolean {
  if (limits === undefined || report === undefined) return false;
  const { waitingRequests, tokenUsage } = limits;
  return (
    (waitingRequests !== undefined && report.waitingRequests >= waitingRequests) ||
    (tokenUsage !== undefined && report.tokenUsage >= tokenUsage)
  );
}
