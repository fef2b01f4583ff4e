import { type Principal } from './principal';

/** One line of the record of who did what to the control plane. Texts are escaped and capped by the log. */
export interface AuditEntry {
  /** `decision`: credentials were judged. `action`: a call that may change something has ended. */
  readonly kind: 'decision' | 'action';
  /** `{ id: 'unauthenticated', method: 'none', role: 'user' }` when nobody was recognised. */
  readonly principal: Principal;
  readonly httpMethod: string;
  /** Path as sent, without its query: a query may hold what is nobody's business. */
  readonly path: string;
  /** Route template; undefined when no route matched. */
  readonly route?: string | undefined;
  /** What was acted on: a worker id, a label selector. */
  readonly resource?: string | undefined;
  /** `denied`: refused for credentials. `failed`: allowed, and answered with 4xx or 5xx. */
  readonly outcome: 'success' | 'denied' | 'failed';
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  /** Why a decision was a refusal. Never a credential. */
  readonly details?: string | undefined;
}

/** Keeps {@link AuditEntry}s. Token: {@link AUDIT_LOG}. */
export interface AuditLog {
  /** False with `--disable-audit-logging`: nothing is recorded. */
  readonly isOn: boolean;
  /** `--audit-required`: a control call whose decision could not be made durable must be refused. */
  readonly isRequired: boolean;
  /**
   * Never throws, never blocks.
   * @returns true once the entry is durable where it was asked to be; false when it was lost, which is
   * counted and logged.
   */
  record(entry: AuditEntry): Promise<boolean>;
}

/** Service token of the {@link AuditLog}; provided globally by AuditModule. */
export const AUDIT_LOG = 'smg:audit-log';
