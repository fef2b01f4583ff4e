import { isObject, type Answer } from './rl-client';
import { plainText } from './plain-text';

/** What an engine said to a call. */
export interface EngineOutcome {
  readonly status: number;
  readonly latencyMs: number;
  readonly body: unknown;
  /** Why it did not do it; undefined when it did. */
  readonly problem: string | undefined;
}

/** Reads an outcome envelope; undefined when it is none. */
export function outcomeOf(envelope: unknown): EngineOutcome | undefined {
  if (!isObject(envelope) || !('latency_ms' in envelope) || 'error' in envelope) return undefined;
  const { status, latency_ms: latencyMs, body } = envelope;
  if (typeof status !== 'number' || typeof latencyMs !== 'number') return undefined;
  return { status, latencyMs, body, problem: problemOf(status, body) };
}

/** An engine can refuse with a 200; the gateway takes `success` and `status` for its word as well. */
function problemOf(status: number, body: unknown): string | undefined {
  const said = isObject(body) ? body : {};
  const isOk = status >= 200 && status < 300;
  const failedCall = resultsOf(said).find((one) => isObject(one) && 'error' in one);
  if (isOk && said['success'] !== false && said['status'] !== 'error' && failedCall === undefined) {
    return undefined;
  }
  const text = messageIn(body) ?? messageIn(failedCall) ?? '';
  return plainText(`HTTP ${status}${text === '' ? '' : `: ${text}`}`).slice(0, 300);
}

function resultsOf({ results }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Array.isArray(results) ? results : [];
}

function messageIn(body: unknown): string | undefined {
  if (typeof body === 'string') return body;
  if (!isObject(body)) return undefined;
  const { message, error, detail } = body;
  for (const text of [message, error, detail]) if (typeof text === 'string') return text;
  return isObject(error) ? messageIn(error) : undefined;
}

/** Codes of the gateway that blame the engine. */
const ENGINE_FAULTS: readonly unknown[] = ['upstream_unreachable', 'upstream_timeout'];

/** Whether a refusal of the gateway is about the engine, not about the request. */
export function blamesEngine({ json }: Answer): boolean {
  return ENGINE_FAULTS.includes(json?.['error']);
}
