import { type AdmissionOptions, type EntryOptions } from '@smg/admission';
import { type AuditOptions } from '@smg/audit';
import { type AuthOptions } from '@smg/auth';
import { type CompatOptions } from '@smg/compat';
import { legEndpoints, type GatewayConfig } from '@smg/config';
import { type HistoryOptions } from '@smg/history';
import { type GatewayLog, type ObservabilityOptions } from '@smg/observability';
import { NO_LOADS, type PolicyOptions } from '@smg/policy';
import { type ProxyOptions } from '@smg/proxy';
import { DEFAULT_REGISTRY_OPTIONS, type RegistryOptions } from '@smg/registry';
import { type RlOptions } from '@smg/rl';
import { type UpstreamOptions } from '@smg/upstream';

/** Cuts the configuration into what each lib is told; the only place that knows both sides. */

/** @param sharedKey of the command line or its file, for the start-up workers. */
export function registrySlice(
  config: GatewayConfig,
  sharedKey: string | undefined,
): RegistryOptions {
  const { workers, health, retry, breaker, requests, routing, pd } = config;
  return {
    ...DEFAULT_REGISTRY_OPTIONS,
    startupWorkers: startupWorkers(config),
    isPrefillDecode: pd.enabled && !routing.enableIgw,
    apiKey: sharedKey,
    runtime: workers.backend === 'auto' ? undefined : workers.backend,
    startupTimeoutSecs: workers.startupTimeoutSecs,
    startupDelaySecs: workers.startupDelaySecs,
    startupCheckIntervalSecs: workers.startupCheckIntervalSecs,
    registrationWaitSecs: workers.registrationWaitSecs,
    jobQueueCapacity: workers.jobQueueCapacity,
    jobQueueConcurrency: workers.jobQueueConcurrency,
    dpAware: workers.dpAware,
    modelAliases: Object.fromEntries(
      workers.modelAliases.map(({ alias, canonical }) => [alias, canonical]),
    ),
    health: {
      endpoint: health.checkEndpoint,
      timeoutSecs: health.checkTimeoutSecs,
      intervalSecs: health.checkIntervalSecs,
      successThreshold: health.successThreshold,
      failureThreshold: health.failureThreshold,
      isDisabled: health.checksDisabled,
    },
    removeUnhealthyWorkers: health.removeUnhealthyWorkers,
    drainSettleSecs: health.drainSettleSecs,
    resilience: {
      ...DEFAULT_REGISTRY_OPTIONS.resilience,
      maxRetries: retry.maxAttempts,
      initialBackoffMs: retry.initialBackoffMs,
      maxBackoffMs: retry.maxBackoffMs,
      backoffMultiplier: retry.backoffMultiplier,
      jitterFactor: retry.jitterFactor,
      disableRetries: retry.disabled,
      cbFailureThreshold: breaker.failureThreshold,
      cbSuccessThreshold: breaker.successThreshold,
      cbTimeoutSecs: breaker.timeoutSecs,
      disableCircuitBreaker: breaker.disabled,
    },
    requestTimeoutSecs: requests.timeoutSecs,
    loads: loadOptions(routing),
  };
}

function startupWorkers({ workers, pd }: GatewayConfig): RegistryOptions['startupWorkers'] {
  return [
    ...workers.urls.map((url) => ({ url, workerType: 'regular' as const })),
    ...legEndpoints(pd.prefill).map((leg) => ({ ...leg, workerType: 'prefill' as const })),
    ...pd.decode.map((url) => ({ url, workerType: 'decode' as const })),
  ];
}

/** With IGW pairs stand beside regular workers. */
function pairs({ pd, routing }: GatewayConfig): ProxyOptions['pd'] {
  if (!pd.enabled && !routing.enableIgw) return undefined;
  return {
    mode: routing.enableIgw ? 'beside' : 'only',
    minimumTokens: routing.dpMinimumTokens,
  };
}

/** Policies that choose by load reports; others that want one get the polling started. */
const BY_REPORTS: ReadonlySet<string | undefined> = new Set(['least_load', 'power_of_two']);
/** KV use of `--worker-overload-protection` alone. Source: SMG contract 1.2. */
const DEFAULT_OVERLOAD_USAGE = 0.9;

function loadOptions(routing: GatewayConfig['routing']): RegistryOptions['loads'] {
  const { overloadProtection, overloadWaitingRequests, overloadTokenUsage } = routing;
  const hasLimits = overloadWaitingRequests !== undefined || overloadTokenUsage !== undefined;
  const overload = hasLimits
    ? { waitingRequests: overloadWaitingRequests, tokenUsage: overloadTokenUsage }
    : { tokenUsage: DEFAULT_OVERLOAD_USAGE };
  const policies = [routing.policy, routing.prefillPolicy, routing.decodePolicy];
  return {
    intervalSecs: routing.loadMonitorIntervalSecs,
    isWanted: routing.dpMinimumTokens || policies.some((policy) => BY_REPORTS.has(policy)),
    engineMetrics: routing.engineMetrics,
    ...(overloadProtection || hasLimits ? { overload } : {}),
  };
}

export function policySlice({ routing, plugins }: GatewayConfig): PolicyOptions {
  return {
    policy: routing.policy,
    prefillPolicy: routing.prefillPolicy,
    decodePolicy: routing.decodePolicy,
    stickyKeys: routing.routingKeyOverride,
    workerFilterHeader: routing.workerFilterHeader,
    requireFilters: plugins.requiredFilters,
    parameters: {
      cacheThreshold: routing.cacheThreshold,
      balanceAbsThreshold: routing.balanceAbsThreshold,
      balanceRelThreshold: routing.balanceRelThreshold,
      evictionIntervalSecs: routing.evictionIntervalSecs,
      maxTreeSize: routing.maxTreeSize,
      balanceTokenUsageThreshold: routing.balanceTokenUsageThreshold,
      overloadTokenUsageThreshold: routing.overloadTokenUsageThreshold,
      overlapDecay: routing.overlapDecay,
      selectionTemperature: routing.selectionTemperature,
      blockSize: routing.blockSize,
      cacheIndex: routing.cacheIndex,
      cacheBoundaries: routing.cacheBoundaries,
      cacheTtlSecs: routing.cacheTtlSecs,
      maxIdleSecs: routing.maxIdleSecs,
      assignmentMode: routing.assignmentMode,
      prefixTokenCount: routing.prefixTokenCount,
      prefixHashLoadFactor: routing.prefixHashLoadFactor,
      prefixHashBalanceAbsThreshold: routing.prefixHashBalanceAbsThreshold,
      leastLoad: {
        kvPressureWeight: routing.leastLoadKvPressureWeight,
        defaultThroughput: routing.leastLoadDefaultThroughput,
        meanPrefillTokens: routing.leastLoadMeanPrefillTokens,
        maxWaitingRequests: routing.leastLoadMaxWaitingRequests,
      },
      bucketAdjustIntervalSecs: routing.bucketAdjustIntervalSecs,
      loads: NO_LOADS,
      random: Math.random,
    },
  };
}

export function upstreamSlice({ requests, upstream }: GatewayConfig): UpstreamOptions {
  const { clientCertPath, clientKeyPath, caCertPaths, allowCidrs, denyCidrs } = upstream;
  return {
    poolIdleTimeoutSecs: requests.upstreamPoolIdleTimeoutSecs,
    tls: { clientCertPath, clientKeyPath, caCertPaths },
    allowCidrs,
    denyCidrs,
  };
}

export function auditSlice({ audit }: GatewayConfig): AuditOptions {
  return { disabled: audit.disabled, logFile: audit.logFile, required: audit.required };
}

export function authSlice({ auth }: GatewayConfig): AuthOptions {
  const { jwtIssuer: issuer, jwtAudience: audience } = auth;
  return {
    apiKey: auth.apiKey,
    apiKeyFile: auth.apiKeyFile,
    tenantApiKeys: auth.tenantApiKeys,
    tenantApiKeysFile: auth.tenantApiKeysFile,
    controlPlaneApiKeys: auth.controlPlaneApiKeys,
    controlPlaneApiKeysFile: auth.controlPlaneApiKeysFile,
    // One without the other has stopped the start already.
    jwt:
      issuer === undefined || audience === undefined
        ? undefined
        : {
            issuer,
            audience,
            jwksUri: auth.jwtJwksUri,
            roleClaim: auth.jwtRoleClaim,
            roleMapping: auth.jwtRoleMapping,
          },
  };
}

/** Whether anything of the admission is on. */
export function limitsRequests({ tenants, admission }: GatewayConfig): boolean {
  return tenants.rateLimitEnabled || limitsEntry({ admission });
}

/** Whether requests in flight are limited. */
export function limitsEntry({ admission }: Pick<GatewayConfig, 'admission'>): boolean {
  return admission.schedulerEnabled || admission.maxConcurrentRequests > 0;
}

export function admissionSlice({ tenants, admission }: GatewayConfig): AdmissionOptions {
  return {
    rateLimitEnabled: tenants.rateLimitEnabled,
    rateLimitConfig: tenants.rateLimitConfig,
    trustHeader: tenants.trustHeader,
    headerName: tenants.headerName,
    entry: limitsEntry({ admission }) ? entryOf(admission) : undefined,
  };
}

function entryOf(admission: GatewayConfig['admission']): EntryOptions {
  return {
    maxConcurrentRequests: admission.maxConcurrentRequests,
    queueSize: admission.queueSize,
    queueTimeoutSecs: admission.queueTimeoutSecs,
    refillPerSecond: admission.refillPerSecond ?? 0,
    scheduler: admission.schedulerEnabled
      ? {
          defaultMaxClass: admission.schedulerDefaultMaxClass,
          config: admission.schedulerConfig,
          tenantMetricTopN: admission.schedulerTenantMetricTopN,
        }
      : undefined,
  };
}

export function historySlice({ history }: GatewayConfig): HistoryOptions {
  const { backend, ...rest } = history;
  // The cross checks have refused it.
  if (backend === 'oracle') throw new Error('the history backend oracle is not available');
  return { backend, ...rest };
}

export function compatSlice({ rl, requests }: GatewayConfig): CompatOptions {
  return { routerVerbs: rl.routerVerbs, tracksRequests: requests.tracksIds };
}

export function rlSlice({ rl }: GatewayConfig): RlOptions {
  return {
    controlTimeoutSecs: rl.controlTimeoutSecs,
    fanoutConcurrency: rl.fanoutConcurrency,
    versionPolicy: rl.versionPolicy,
  };
}

export function observabilitySlice(
  { observability, listener }: GatewayConfig,
  log: GatewayLog | undefined,
): ObservabilityOptions {
  return {
    log,
    prometheusPort: observability.prometheusPort,
    prometheusHost: observability.prometheusHost,
    durationBuckets: observability.prometheusDurationBuckets,
    healthCheckPort: listener.healthCheckPort,
    healthCheckHost: listener.host,
  };
}

export function proxySlice(config: GatewayConfig): ProxyOptions {
  const { requests, retry, routing } = config;
  return {
    pd: pairs(config),
    maxPayloadSize: requests.maxPayloadSize,
    bodyIdleTimeoutSecs: requests.bodyIdleTimeoutSecs,
    streamStallTimeoutSecs: requests.streamBodyStallTimeoutSecs,
    streamRequestBodiesOver: requests.streamRequestBodiesOver,
    realtimeIdleTimeoutSecs: requests.realtimeIdleTimeoutSecs,
    requestIdHeaders: requests.requestIdHeaders,
    routingKeyHeaders: routing.routingKeyHeaders,
    stickyKeys: routing.routingKeyOverride,
    hotLane: requests.hotLane,
    requireModel: routing.enableIgw,
    retriesDisabled: retry.disabled,
    retry,
    loadMonitorIntervalSecs: routing.loadMonitorIntervalSecs,
    noEligibleStatus: requests.noEligibleStatus,
    backendFailedStatus: requests.backendFailedStatus,
  };
}
