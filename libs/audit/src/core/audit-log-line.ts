/** Message of every such line (SMG contract 8.4). */
const MESSAGE = 'control_plane_audit';

/** A record as a line of the process log. */
export interface AuditLogLine {
  /** As `renderAuditRecord` makes it. */
  readonly record: string;
  /** Unix milliseconds. */
  readonly now: number;
  readonly level: 'info' | 'error';
  /** The sink that could not keep the record: this line is then its only trace. */
  readonly lostBy?: 'file' | undefined;
}

/** The line, newline included: what every line of the log has, then the members of the record. */
export function renderAuditLogLine({ record, now, level, lostBy }: AuditLogLine): string {
  const lost = lostBy === undefined ? '' : `"lost_by":"${lostBy}",`;
  return `{"level":"${level}","time":${now},"target":"smg::audit","msg":"${MESSAGE}",${lost}${record.slice(1)}`;
}
