/** Bytes of an engine's answer that the caller gets to see. Source: SMG RL contract 2.2. */
export const MAX_OUTCOME_BYTES = 1_048_576;

/** What one engine answered. */
export interface CallOutcome {
  readonly workerId: string;
  /** As registered, with the rank. */
  readonly url: string;
  readonly status: number;
  /** From send to the end of the body. */
  readonly latencyMs: number;
  /** As received. It becomes text when it is shown: escaped, it can take six times the space. */
  readonly body: Buffer;
  /** Of the answer. */
  readonly contentType: string | undefined;
  /** The engine sent more than `body`. */
  readonly truncated: boolean;
}

const STRICT = new TextDecoder('utf-8', { fatal: true });

/**
 * The engine's body as JSON text. JSON is passed on as it was written, so 64-bit integers and `7.0`
 * survive; anything else becomes a string. A body that was cut is always a string.
 * @param contentType as received; decides whether the bytes are taken for JSON.
 */
export function bodyAsJson(
  body: Buffer,
  contentType: string | undefined,
  truncated: boolean,
): { readonly bodyJson: string; readonly truncated: boolean } {
  const cut = truncated || body.length > MAX_OUTCOME_BYTES;
  if (!cut && contentType !== undefined && /json/i.test(contentType)) {
    const text = jsonText(body);
    if (text !== undefined) return { bodyJson: text, truncated: false };
  }
  const kept = body.length > MAX_OUTCOME_BYTES ? body.subarray(0, MAX_OUTCOME_BYTES) : body;
  return { bodyJson: JSON.stringify(kept.toString('utf8')), truncated: cut };
}

/** The envelope, as JSON text. */
export function renderOutcome(outcome: CallOutcome): string {
  const head = JSON.stringify({
    worker_id: outcome.workerId,
    url: outcome.url,
    status: outcome.status,
    latency_ms: Math.max(0, Math.floor(outcome.latencyMs)),
  });
  const { bodyJson, truncated } = bodyAsJson(outcome.body, outcome.contentType, outcome.truncated);
  const tail = truncated ? ',"body_truncated":true}' : '}';
  return `${head.slice(0, -1)},"body":${bodyJson}${tail}`;
}

function jsonText(body: Buffer): string | undefined {
  try {
    const text = STRICT.decode(body);
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}
