import {
  type CallResult,
  type Capabilities,
  type ControlState,
  type FanoutFailure,
  type FanoutResult,
  type Worker,
} from './models.js';

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// Members are read leniently: gateways older than this client send fewer, newer ones more.
const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' ? value : otherwise;
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const numberOrNull = (value: unknown): number | null =>
  typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null;
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

function labelsOf(value: unknown): Record<string, string> {
  if (!isJson(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
}

function capabilitiesOf(value: unknown): Capabilities {
  const row = isJson(value) ? value : {};
  return {
    source: textOr(row['source'], 'static'),
    pauseModes: textsOf(row['pause_modes']),
    updateFrom: textsOf(row['update_from']),
    abort: row['abort'] === true,
    flushCache: row['flush_cache'] === true,
    sleepWake: row['sleep_wake'] === true,
    reportsWeightVersion: row['reports_weight_version'] === true,
  };
}

/** Reads a row of the discovery answer. Unknown members are ignored. */
export function workerOf(row: Json): Worker {
  const url = textOr(row['url'], '');
  return {
    id: textOr(row['id'], ''),
    url,
    baseUrl: textOr(row['base_url'], url),
    engine: textOr(row['engine'], 'unknown'),
    engineVersion: textOrNull(row['engine_version']),
    modelId: textOr(row['model_id'], ''),
    workerType: textOr(row['worker_type'], 'regular'),
    connectionMode: textOr(row['connection_mode'], 'http'),
    tpSize: numberOrNull(row['tp_size']),
    dpSize: numberOrNull(row['dp_size']),
    ppSize: numberOrNull(row['pp_size']),
    dpRanks: numberOrNull(row['dp_ranks']) ?? 1,
    role: textOrNull(row['role']),
    health: textOr(row['health'], 'unknown'),
    weightVersion: textOrNull(row['weight_version']),
    versionSource: textOrNull(row['version_source']),
    control: textOr(row['control'], 'active') as ControlState,
    labels: labelsOf(row['labels']),
    capabilities: capabilitiesOf(row['capabilities']),
  };
}

/** Reads what the gateway says of one engine call. */
export function callResultOf(outcome: Json): CallResult {
  return {
    workerId: textOr(outcome['worker_id'], ''),
    url: textOr(outcome['url'], ''),
    status: numberOrNull(outcome['status']) ?? 0,
    latencyMs: numberOrNull(outcome['latency_ms']) ?? 0,
    body: outcome['body'] ?? null,
    bodyTruncated: outcome['body_truncated'] === true,
  };
}

function failureOf(entry: Json): FanoutFailure {
  return {
    workerId: textOr(entry['worker_id'], ''),
    url: textOr(entry['url'], ''),
    error: textOr(entry['error'], 'unknown'),
    message: textOr(entry['message'], ''),
    status: numberOrNull(entry['status']),
    connectionMode: textOrNull(entry['connection_mode']),
  };
}

/** Reads the report of a fan-out; `undefined` when it is none. */
export function fanoutResultOf(payload: unknown): FanoutResult | undefined {
  if (!isJson(payload)) return undefined;
  const { results, failed = [] } = payload;
  if (!isJson(results) || !Array.isArray(failed)) return undefined;
  const answered = Object.entries(results);
  if (!answered.every((pair): pair is [string, Json] => isJson(pair[1]))) return undefined;
  if (!failed.every(isJson)) return undefined;
  const failures = failed.map(failureOf);
  const succeeded = numberOrNull(payload['succeeded']) ?? answered.length - failures.length;
  return {
    results: Object.fromEntries(answered.map(([id, outcome]) => [id, callResultOf(outcome)])),
    failed: failures,
    total: numberOrNull(payload['total']) ?? succeeded + failures.length,
    succeeded,
  };
}
