/** Where the process is in its life. Token: {@link LIFECYCLE}. */
export interface Lifecycle {
  /** A shutdown signal arrived: readiness answers 503 `draining`. */
  readonly isDraining: boolean;
}

/** Service token of {@link Lifecycle}; provided globally by ObservabilityModule. */
export const LIFECYCLE = 'smg:lifecycle';
