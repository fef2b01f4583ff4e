import { type Outcome } from './measures';
import { type Scenario } from './scenario';
import { type Variant } from './variants';

/** One row: a policy with its flags in front of one fleet. */
export interface Result {
  readonly scenario: Scenario;
  readonly variant: Variant;
  readonly outcome: Outcome;
  readonly cost: Cost;
}

/** What deciding costs on the machine at hand. */
export interface Cost {
  /** Nanoseconds of one selection, wall clock. */
  readonly p50: number;
  readonly p99: number;
  /** Nanoseconds of CPU per selection. */
  readonly cpu: number;
  /** Bytes that the policy remembers at the end, beyond what a policy without memory holds. */
  readonly stateBytes: number;
}

/** What a policy did at one rate of requests. */
export interface SweepPoint {
  /** Requests per second and worker. */
  readonly rate: number;
  readonly policy: string;
  readonly outcome: Outcome;
}
