import { type Clock } from './core/clock';

/** Token of the {@link RegistryOptions} slice. */
export const REGISTRY_OPTIONS = 'smg:registry-options';

/** Time, chance and identity, so that tests can bring their own. */
export interface RegistryRuntime {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A new UUIDv7. */
  readonly newId: () => string;
}

/** Token of the {@link RegistryRuntime}. */
export const REGISTRY_RUNTIME = 'smg:registry-runtime';
