/** What the application tells the admission. Token: {@link ADMISSION_OPTIONS}. */
export interface AdmissionOptions {
  /** False: nothing is provided, and nothing is limited. */
  readonly rateLimitEnabled: boolean;
  /** YAML file of limits; needed when enabled. */
  readonly rateLimitConfig: string | undefined;
  /** Whether the tenant header of a client is believed. */
  readonly trustHeader: boolean;
  readonly headerName: string;
  /** Milliseconds, monotonic; for tests. */
  readonly now?: () => number;
}

/** Token of {@link AdmissionOptions}. */
export const ADMISSION_OPTIONS = 'smg:admission-options';
