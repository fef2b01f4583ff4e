import { type GatewayConfig } from './gateway-config';

type Label = (flag: string) => string;

/** An option that is unset by default and does nothing without another one. */
interface IdleOption {
  readonly flag: string;
  readonly given: (config: GatewayConfig) => boolean;
  readonly works: (config: GatewayConfig) => boolean;
  readonly without: string;
}

const IDLE_OPTIONS: readonly IdleOption[] = [
  {
    flag: 'priority-scheduler-config',
    given: ({ admission }) => admission.schedulerConfig !== undefined,
    works: ({ admission }) => admission.schedulerEnabled,
    without: '--priority-scheduler-enabled',
  },
  {
    flag: 'rate-limit-tokens-per-second',
    given: ({ admission }) => admission.refillPerSecond !== undefined,
    works: ({ admission }) => admission.maxConcurrentRequests > 0,
    without: '--max-concurrent-requests',
  },
  {
    flag: 'tenant-rate-limit-config',
    given: ({ tenants }) => tenants.rateLimitConfig !== undefined,
    works: ({ tenants }) => tenants.rateLimitEnabled,
    without: '--tenant-rate-limit-enabled',
  },
  {
    flag: 'postgres-db-url',
    given: ({ history }) => history.postgresDbUrl !== undefined,
    works: ({ history }) => history.backend === 'postgres',
    without: '--history-backend postgres',
  },
  {
    flag: 'redis-url',
    given: ({ history }) => history.redisUrl !== undefined,
    works: ({ history }) => history.backend === 'redis',
    without: '--history-backend redis',
  },
];

/**
 * Warnings about options that were given and do nothing: whoever names a file of limits believes
 * that they hold. A warning and no refusal, as launch scripts of SMG may carry them.
 */
export function idleWarnings(config: GatewayConfig, label: Label): readonly string[] {
  return IDLE_OPTIONS.filter((option) => option.given(config) && !option.works(config)).map(
    ({ flag, without }) => `${label(flag)} has no effect without ${without}`,
  );
}
