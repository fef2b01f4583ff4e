import { type RequestRecord } from '@smg/plugin-api';
import { redactUri } from '@smg/protocol';
import { jsonString } from './json-string';

/**
 * The access log: one JSON object per request (SMG contract, "Logs"), built by hand because a
 * logger's line costs several times as much on the hot path.
 */

export type AccessLevel = 'debug' | 'info' | 'warn' | 'error';

/** Longest value kept of each text a client or an engine chooses, in characters. */
const LIMITS = { uri: 2048, method: 32, route: 256, requestId: 256, model: 256, worker: 512 };

const PROBE_ROUTES: ReadonlySet<string> = new Set([
  '/health',
  '/liveness',
  '/readiness',
  '/metrics',
]);

/** Level of a record; decided before a line is built. */
export function accessLevel(record: RequestRecord): AccessLevel {
  if (PROBE_ROUTES.has(record.route)) return 'debug';
  if (record.status >= 500 || isBroken(record)) return 'error';
  return record.status >= 400 ? 'warn' : 'info';
}

/** The engine's fault, not the client's: the head said success and the body broke off. */
const isBroken = (record: RequestRecord): boolean =>
  record.truncated === true && record.clientGone !== true;

function messageOf(record: RequestRecord, level: AccessLevel): string {
  if (level === 'debug') return 'finished probe request';
  if (record.status >= 500) return 'request failed with server error';
  if (isBroken(record)) return 'response stream failed after the head was sent';
  if (record.status >= 400) return 'request failed with client error';
  return 'finished processing request';
}

/**
 * The line, newline included.
 * @param timeMs Unix milliseconds.
 */
export function renderAccessLine(
  record: RequestRecord,
  level: AccessLevel,
  timeMs: number,
): string {
  let line =
    `{"level":"${level}","time":${timeMs},"target":"smg::response"` +
    `,"msg":"${messageOf(record, level)}"` +
    `,"method":${jsonString(record.method, LIMITS.method)}` +
    `,"route":${jsonString(record.route, LIMITS.route)}` +
    `,"uri":${jsonString(redactUri(record.url), LIMITS.uri)}` +
    `,"status_code":${record.status}` +
    `,"latency_us":${Math.round(record.durationMs * 1000)}` +
    `,"request_id":${jsonString(record.requestId, LIMITS.requestId)}`;
  if (record.errorCode !== undefined) line += `,"error_code":${jsonString(record.errorCode, 128)}`;
  if (record.worker !== undefined) line += `,"worker":${jsonString(record.worker, LIMITS.worker)}`;
  if (record.model !== undefined) line += `,"model":${jsonString(record.model, LIMITS.model)}`;
  if (record.attempts !== undefined) line += `,"attempts":${record.attempts}`;
  if (record.clientGone === true) line += ',"client_gone":true';
  if (record.truncated === true) line += ',"truncated":true';
  return `${line}}\n`;
}
