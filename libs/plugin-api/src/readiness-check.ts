import { defineExtensionPoint } from './extension-point';

/** Something that must hold before the gateway calls itself ready. */
export interface ReadinessCheck {
  /** Unique. */
  readonly name: string;
  /** Reads a cached value; never does I/O. @returns undefined when ready, else the reason. */
  check(): string | undefined;
}

/** Register a {@link ReadinessCheck}. */
export const READINESS_CHECK = defineExtensionPoint<ReadinessCheck>('smg:readiness-check');
