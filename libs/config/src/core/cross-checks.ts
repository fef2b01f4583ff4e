import { parseUrl } from '@smg/protocol';
import { type GatewayConfig } from './gateway-config';
import { legEndpoints } from './leg-endpoints';
import { BUILT_IN_POLICIES } from './options/routing.options';
import { checkPrefillDecode } from './pd-checks';

export interface CrossCheckOptions {
  /** Policies of plug-ins may be named: they are looked up when the plug-ins are loaded. */
  readonly pluginPolicies: boolean;
}

/** Problems that only two options together can have; `label` names an option as it was given. */
export function crossCheck(
  config: GatewayConfig,
  label: (flag: string) => string,
  options: CrossCheckOptions,
): readonly string[] {
  return [
    ...checkPolicy(config, label, options),
    ...checkWorkers(config, label),
    ...checkPorts(config, label),
    ...checkBackoff(config, label),
    ...checkAliases(config, label),
    ...checkKeys(config, label),
    ...checkPairs(config, label),
    ...checkQueue(config, label),
    ...checkUploads(config, label),
    ...checkPrefillDecode(config, label),
    ...checkRl(config, label),
    ...checkHistory(config, label),
  ];
}

function checkUploads({ requests }: GatewayConfig, label: Label): readonly string[] {
  const { streamRequestBodiesOver: over, maxPayloadSize: most } = requests;
  return over > 0 && over >= most
    ? [`${label('stream-request-bodies-over')}: ${over} is not below --max-payload-size (${most})`]
    : [];
}

type Label = (flag: string) => string;

function checkPolicy(
  config: GatewayConfig,
  label: Label,
  { pluginPolicies }: CrossCheckOptions,
): readonly string[] {
  const { routing } = config;
  const builtIn = (BUILT_IN_POLICIES as readonly string[]).includes(routing.policy);
  if (!builtIn && !pluginPolicies) {
    return [
      `${label('policy')}: ${routing.policy} is not one of ${BUILT_IN_POLICIES.join(', ')}; other names need a --plugin`,
    ];
  }
  return [
    ...checkEviction(routing, label),
    ...checkPowerOfTwo(routing, config, label),
    ...(routing.cacheIndex === 'hash' && routing.cacheBoundaries.length === 0
      ? [`${label('cache-index')}: hash needs --cache-boundaries`]
      : []),
  ];
}

type Routing = GatewayConfig['routing'];

function checkEviction(routing: Routing, label: Label): readonly string[] {
  const evicts = [routing.policy, routing.prefillPolicy, routing.decodePolicy];
  return routing.evictionIntervalSecs === 0 && evicts.includes('cache_aware')
    ? [`${label('eviction-interval')}: 0 is not > 0, which the policy cache_aware needs`]
    : [];
}

/** Two picks need two workers; with IGW they may come later. */
function checkPowerOfTwo(
  routing: Routing,
  { workers, pd }: GatewayConfig,
  label: Label,
): readonly string[] {
  if (routing.enableIgw) return [];
  const fillers = legEndpoints(pd.prefill).length;
  const decoders = pd.decode.length;
  const checks: [flag: string, policy: string | undefined, urls: string, count: number][] = [
    ['policy', routing.policy, 'worker-urls', workers.urls.length + fillers + decoders],
    ['prefill-policy', routing.prefillPolicy, 'prefill', fillers],
    ['decode-policy', routing.decodePolicy, 'decode', decoders],
  ];
  return checks
    .filter(([, policy, , count]) => policy === 'power_of_two' && count < 2)
    .map(
      ([flag, , urls, count]) =>
        `${label(flag)}: power_of_two needs at least 2 --${urls} or --enable-igw, got ${count}`,
    );
}

/** Schemes of SMG that the value rule knows and no worker can have yet. The rest of a URL may be secret. */
function checkWorkers({ workers }: GatewayConfig, label: Label): readonly string[] {
  return workers.urls.flatMap((url, index) => {
    const scheme = /^(grpcs?|ipc):/.exec(url)?.[0];
    const entry = workers.urls.length > 1 ? `entry ${index + 1}: ` : '';
    return scheme === undefined
      ? []
      : [`${label('worker-urls')}: ${entry}${scheme}// is not available in this version`];
  });
}

function checkPorts({ listener, observability }: GatewayConfig, label: Label): readonly string[] {
  const ports: [flag: string, port: number | undefined][] = [
    ['port', listener.port],
    ['health-check-port', listener.healthCheckPort],
    ['prometheus-port', observability.prometheusPort],
  ];
  const owners = new Map<number, string>();
  const problems: string[] = [];
  for (const [flag, port] of ports) {
    // 0 asks the system for a free port: two zeros are two ports.
    if (port === undefined || port === 0) continue;
    const owner = owners.get(port);
    if (owner === undefined) owners.set(port, flag);
    else problems.push(`${label(flag)}: ${port} is already the port of --${owner}`);
  }
  return problems;
}

function checkBackoff({ retry }: GatewayConfig, label: Label): readonly string[] {
  return retry.maxBackoffMs < retry.initialBackoffMs
    ? [
        `${label('retry-max-backoff-ms')}: ${retry.maxBackoffMs} is below --retry-initial-backoff-ms ${retry.initialBackoffMs}`,
      ]
    : [];
}

function checkAliases({ workers }: GatewayConfig, label: Label): readonly string[] {
  const targets = new Map<string, string>();
  const problems: string[] = [];
  for (const { alias, canonical } of workers.modelAliases) {
    const target = targets.get(alias);
    if (target === undefined) targets.set(alias, canonical);
    else if (target !== canonical) {
      problems.push(
        `${label('model-alias')}: ${JSON.stringify(alias)} stands for both ${JSON.stringify(target)} and ${JSON.stringify(canonical)}`,
      );
    }
  }
  return problems;
}

/** Two owners of one key could not be told apart. The message names owners, never the key. */
function checkKeys({ auth }: GatewayConfig, label: Label): readonly string[] {
  const owners = new Map<string, string>();
  const problems: string[] = [];
  const claim = (key: string, owner: string, flag: string): void => {
    const other = owners.get(key);
    if (other === undefined) owners.set(key, owner);
    else problems.push(`${label(flag)}: ${owner} has the same key as ${other}`);
  };
  if (auth.apiKey !== undefined) claim(auth.apiKey, '--api-key', 'api-key');
  for (const [index, { key }] of auth.tenantApiKeys.entries()) {
    claim(key, `entry ${index + 1}`, 'tenant-api-key');
  }
  const ids = new Set<string>();
  for (const [index, { id, key }] of auth.controlPlaneApiKeys.entries()) {
    claim(key, `entry ${index + 1}`, 'control-plane-api-keys');
    if (ids.has(id)) {
      problems.push(`${label('control-plane-api-keys')}: entry ${index + 1} repeats an id`);
    }
    ids.add(id);
  }
  if (auth.apiKey !== undefined && auth.apiKeyFile !== undefined) {
    problems.push(`${label('api-key-file')}: the key is given by --api-key as well`);
  }
  return problems;
}

/** Half a set-up is a mistake, and must not leave anything open. */
function checkPairs(config: GatewayConfig, label: Label): readonly string[] {
  const { auth, tls, upstream, tenants, audit } = config;
  const pairs: [flag: string, value: unknown, needs: string, other: unknown][] = [
    ['jwt-issuer', auth.jwtIssuer, 'jwt-audience', auth.jwtAudience],
    ['jwt-audience', auth.jwtAudience, 'jwt-issuer', auth.jwtIssuer],
    ['jwt-jwks-uri', auth.jwtJwksUri, 'jwt-issuer', auth.jwtIssuer],
    ['jwt-role-mapping', auth.jwtRoleMapping[0], 'jwt-issuer', auth.jwtIssuer],
    ['tls-cert-path', tls.certPath, 'tls-key-path', tls.keyPath],
    ['tls-key-path', tls.keyPath, 'tls-cert-path', tls.certPath],
    ['client-cert-path', upstream.clientCertPath, 'client-key-path', upstream.clientKeyPath],
    ['client-key-path', upstream.clientKeyPath, 'client-cert-path', upstream.clientCertPath],
    [
      'tenant-rate-limit-enabled',
      tenants.rateLimitEnabled || undefined,
      'tenant-rate-limit-config',
      tenants.rateLimitConfig,
    ],
    ['audit-required', audit.required || undefined, 'audit-log-file', audit.logFile],
    [
      'audit-log-file',
      audit.logFile,
      'disable-audit-logging left out',
      audit.disabled ? undefined : true,
    ],
  ];
  return pairs
    .filter(([, value, , other]) => value !== undefined && other === undefined)
    .map(([flag, , needs]) => `${label(flag)}: needs --${needs}`);
}

/** A queue nobody may wait in. Source: SMG contract 1.2. */
function checkQueue({ admission }: GatewayConfig, label: Label): readonly string[] {
  return admission.queueSize > 0 && admission.queueTimeoutSecs === 0
    ? [`${label('queue-timeout-secs')}: 0 is not > 0, which --queue-size above 0 needs`]
    : [];
}

/** Off means fully off; on, the limits must let a call happen. Source: SMG RL contract 1.2. */
function checkRl({ rl }: GatewayConfig, label: Label): readonly string[] {
  if (!rl.enabled) {
    return [
      ...(rl.versionPolicy === 'any'
        ? []
        : [
            `${label('rl-version-policy')}: ${rl.versionPolicy} - rl.version_policy requires rl.enabled (--enable-rl)`,
          ]),
      ...(rl.routerVerbs ? [`${label('rl-router-verbs')}: needs --enable-rl`] : []),
    ];
  }
  const limits: [flag: string, field: string, value: number][] = [
    ['rl-control-timeout-secs', 'control_timeout_secs', rl.controlTimeoutSecs],
    ['rl-fanout-concurrency', 'fanout_concurrency', rl.fanoutConcurrency],
  ];
  return limits
    .filter(([, , value]) => value < 1)
    .map(([flag, field, value]) => `${label(flag)}: ${value} - rl.${field} must be >= 1`);
}

/** A database must be named before it can be used. Messages never repeat a URL: it may hold a password. */
function checkHistory({ history }: GatewayConfig, label: Label): readonly string[] {
  const { backend, postgresDbUrl, redisUrl, redisRetentionDays } = history;
  if (backend === 'oracle') {
    return [`${label('history-backend')}: oracle is not available in this version`];
  }
  const problems: string[] = [];
  const needs = (flag: string, url: string | undefined, schemes: readonly string[]): void => {
    if (url === undefined) problems.push(`${label('history-backend')}: ${backend} needs --${flag}`);
    else if (!isUrlOf(url, schemes)) {
      problems.push(`${label(flag)}: is not a URL that starts with ${schemes.join(' or ')}`);
    }
  };
  if (backend === 'postgres') {
    needs('postgres-db-url', postgresDbUrl, ['postgres://', 'postgresql://']);
  }
  if (backend === 'redis') {
    needs('redis-url', redisUrl, ['redis://', 'rediss://']);
    if (redisRetentionDays === 0) {
      problems.push(`${label('redis-retention-days')}: 0 keeps nothing; below 0 keeps for ever`);
    }
  }
  return problems;
}

function isUrlOf(url: string, schemes: readonly string[]): boolean {
  return schemes.some((scheme) => url.startsWith(scheme)) && parseUrl(url) !== undefined;
}
