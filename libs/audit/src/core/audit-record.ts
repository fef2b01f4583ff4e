import { redactUri } from '@smg/protocol';
import { type AuditEntry } from '@smg/plugin-api';
import { auditText } from './audit-text';

/** `"name":"text",` of a text that may hold anything. */
function member(name: string, text: string | undefined): string {
  // After auditText the only character JSON must still escape is the quote, and the backslash.
  return text === undefined ? '' : `,"${name}":${JSON.stringify(auditText(text))}`;
}

/** Path without query and fragment, and without the password of a URL that stands for a worker id. */
function pathOf(path: string): string {
  return redactUri(path.split(/[?#]/, 1)[0] ?? '');
}

/**
 * The members of a record without the braces, as the log line and the file share them. Names and
 * values: SMG contract 8.4; `kind`, `route` and `status` are ours.
 * @param now Unix milliseconds.
 */
export function auditMembers(entry: AuditEntry, now: number): string {
  const { principal, status } = entry;
  return (
    `"timestamp":"${new Date(now).toISOString()}","kind":"${entry.kind}"` +
    member('principal', principal.id) +
    `,"auth_method":"${principal.method}","role":"${principal.role}"` +
    member('method', entry.httpMethod) +
    member('path', pathOf(entry.path)) +
    member('route', entry.route) +
    member('resource', entry.resource === undefined ? undefined : redactUri(entry.resource)) +
    `,"outcome":"${entry.outcome}"` +
    (status === undefined ? '' : `,"status":${status}`) +
    member('request_id', entry.requestId) +
    member('details', entry.details)
  );
}

/**
 * One line of the audit file, newline included.
 * @param now Unix milliseconds.
 */
export function renderAuditRecord(entry: AuditEntry, now: number): string {
  return `{${auditMembers(entry, now)}}\n`;
}

/** What a line of the process log says besides the record. */
export interface AuditLogLine {
  readonly level: 'info' | 'error';
  /** The sink that could not keep the record; the line is then its only trace. */
  readonly lostBy?: string | undefined;
}

/**
 * The same record as a line of the process log.
 * @param members of {@link auditMembers}.
 * @param now Unix milliseconds.
 */
export function renderAuditLogLine(
  members: string,
  now: number,
  { level, lostBy }: AuditLogLine,
): string {
  const lost = lostBy === undefined ? '' : `"lost_by":"${lostBy}",`;
  return `{"level":"${level}","time":${now},"target":"smg::audit","msg":"control_plane_audit",${lost}${members}}\n`;
}
