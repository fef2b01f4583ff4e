import { type PriorityClassName } from './core/priority-class';

/** What the application tells the admission. Token: {@link ADMISSION_OPTIONS}. */
export interface AdmissionOptions {
  /** False: tenants have no budgets. */
  readonly rateLimitEnabled: boolean;
  /** YAML file of limits; needed when enabled. */
  readonly rateLimitConfig: string | undefined;
  /** Whether the tenant header of a client is believed. */
  readonly trustHeader: boolean;
  readonly headerName: string;
  /** Undefined: as many requests as come are in flight. */
  readonly entry: EntryOptions | undefined;
  /** Milliseconds, monotonic; for tests. */
  readonly now?: () => number;
}

/** How many requests may be in flight. */
export interface EntryOptions {
  /** 0 or less is no limit. */
  readonly maxConcurrentRequests: number;
  readonly queueSize: number;
  readonly queueTimeoutSecs: number;
  /** Permits that come back each second besides; 0 for none. */
  readonly refillPerSecond: number;
  /** Undefined: classes do not matter. */
  readonly scheduler: SchedulerOptions | undefined;
}

/** The priority scheduler. */
export interface SchedulerOptions {
  readonly defaultMaxClass: PriorityClassName;
  /** YAML file of classes and tenant policies; undefined for the defaults. */
  readonly config: string | undefined;
  /** Tenants with a series of their own in metrics. */
  readonly tenantMetricTopN: number;
}

/** Token of {@link AdmissionOptions}. */
export const ADMISSION_OPTIONS = 'smg:admission-options';
