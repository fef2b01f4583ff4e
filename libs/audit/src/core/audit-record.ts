import { redactUri } from '@smg/protocol';
import { type AuditEntry } from '@smg/plugin-api';
import { auditText } from './audit-text';

/** `,"name":"text"` of a text that may hold anything; nothing without one. */
function member(name: string, text: string | undefined): string {
  return text === undefined ? '' : `,"${name}":${JSON.stringify(auditText(text))}`;
}

/** Path without query and fragment, and without the password of a URL that stands for a worker id. */
function pathOf(path: string): string {
  return redactUri(path.split(/[?#]/, 1)[0] ?? '');
}

/**
 * One line of the audit file, newline included. Names and values: SMG contract 8.4; `kind`, `route`
 * and `status` are ours.
 * @param now Unix milliseconds.
 */
export function renderAuditRecord(entry: AuditEntry, now: number): string {
  const { principal, resource, status } = entry;
  return (
    `{"timestamp":"${new Date(now).toISOString()}","kind":"${entry.kind}"` +
    member('principal', principal.id) +
    `,"auth_method":"${principal.method}","role":"${principal.role}"` +
    member('method', entry.httpMethod) +
    member('path', pathOf(entry.path)) +
    member('route', entry.route) +
    member('resource', resource === undefined ? undefined : redactUri(resource)) +
    `,"outcome":"${entry.outcome}"` +
    (status === undefined ? '' : `,"status":${status}`) +
    member('request_id', entry.requestId) +
    member('details', entry.details) +
    '}\n'
  );
}
