import { parseCommandLine } from '../parse-command-line';

function load(text: string | Error) {
  const readFile = (path: string) => {
    expect(path).toBe('smg.json');
    if (text instanceof Error) throw text;
    return text;
  };
  return parseCommandLine(['--config=smg.json'], { env: {}, readFile }, { short: '', verbose: '' });
}

const errorOf = (text: string | Error) => {
  const result = load(text);
  return result.kind === 'error' ? result.text : result.kind;
};

describe('config file', () => {
  it('takes the RL options flat or in an object', () => {
    const rl = { enabled: true, version_policy: 'max-staleness:+02', fanout_concurrency: 3 };
    for (const text of [
      JSON.stringify({ rl }),
      '{"enable_rl": true, "rl_version_policy": "max-staleness:2", "rl_fanout_concurrency": 3}',
      '{"enable_rl": true, "rl": {"version_policy": "max-staleness:2", "fanout_concurrency": 3}}',
    ]) {
      const result = load(text);
      if (result.kind !== 'run') throw new Error(result.text);
      expect(result.config.rl).toEqual({
        enabled: true,
        controlTimeoutSecs: 600,
        routerVerbs: false,
        fanoutConcurrency: 3,
        versionPolicy: 'max-staleness:2',
      });
    }
    for (const text of ['{"rl": {}}', '{"rl": null}']) expect(errorOf(text)).toBe('run');
  });

  it.each([
    ['{"rl": {"enable": true}}', 'rl.enable (config file): unknown key'],
    ['{"rl": {"enabled": "yes"}}', 'rl.enabled (config file): '],
    ['{"rl": true}', 'rl (config file): unknown key'],
    [
      '{"enable_rl": true, "rl": {"enabled": true}}',
      'rl.enabled (config file): is another spelling of enable_rl, also given',
    ],
    [
      '{"rl": {"version_policy": "latest-only"}}',
      'rl.version_policy (config file): latest-only - rl.version_policy requires rl.enabled',
    ],
  ])('refuses %s', (text, message) => {
    expect(errorOf(text)).toContain(message);
  });

  it('sets options by snake_case flag names, in any spelling', () => {
    const result = load(
      JSON.stringify({
        host: '127.0.0.1',
        port: 8080,
        worker_urls: ['http://a'],
        cache_match_threshold: 0.5,
        spill_abs_threshold: 3,
        spill_rel_threshold: 2,
        worker_auto_recovery: true,
        model_alias: ['a=b'],
        tenant_api_key: ['t:k'],
        require_filters: 'a,b',
        hot_lane: 'off',
        health_check_port: null,
      }),
    );
    if (result.kind !== 'run') throw new Error(result.text);
    expect(result.config).toMatchObject({
      listener: { host: '127.0.0.1', port: 8080, healthCheckPort: undefined },
      workers: { urls: ['http://a'], modelAliases: [{ alias: 'a', canonical: 'b' }] },
      routing: { cacheThreshold: 0.5, balanceAbsThreshold: 3, balanceRelThreshold: 2 },
      health: { removeUnhealthyWorkers: true },
      auth: { tenantApiKeys: [{ tenantId: 't', key: 'k' }] },
      plugins: { requiredFilters: ['a', 'b'] },
      requests: { hotLane: false },
    });
  });

  it.each([
    ['{"kv_indexer_ttl_secs":1}', 'kv_indexer_ttl_secs (config file): not available in this'],
    ['{"prot":1}', 'prot (config file): unknown key; did you mean port?'],
    ['{"worker-urls":[]}', 'worker-urls (config file): unknown key; did you mean worker_urls?'],
    ['{"__proto__":{"port":1}}', '__proto__ (config file): unknown key'],
    ['{"port":"80"}', 'port (config file): expected an integer, got "80"'],
    ['{"port":1.5}', 'port (config file): expected an integer, got 1.5'],
    ['{"port":null}', 'port (config file): expected an integer, got null'],
    ['{"dp_aware":"yes"}', 'dp_aware (config file): expected true or false, got "yes"'],
    ['{"worker_urls":"http://a"}', 'worker_urls (config file): expected a JSON array'],
    ['{"host":7}', 'host (config file): expected a string, got 7'],
    ['{"cache_threshold":"0.5"}', 'cache_threshold (config file): expected a number, got "0.5"'],
    ['{"cache_threshold":0.1,"cache_match_threshold":0.1}', 'is another spelling of cache_thresh'],
    ['[]', '--config: smg.json does not hold a JSON object'],
    ['null', '--config: smg.json does not hold a JSON object'],
    ['{\n  "api_key": sk-1\n}', '--config: smg.json is not JSON (line 2, column 14)'],
  ])('%s is refused', (text, message) => {
    expect(errorOf(text)).toContain(message);
  });

  it.each([
    '{"api_key":{"sk-secret":1}}',
    '{"api_key": sk-secret}',
    '{"tenant_api_key":["sk-secret"]}',
  ])('never repeats what may be a key: %s', (text) => {
    expect(errorOf(text)).toMatch(/^error: /);
    expect(errorOf(text)).not.toContain('sk-secret');
  });

  it('tells why a file cannot be read, without a stack or the system message', () => {
    const error = Object.assign(new Error('no such file /very/private'), { code: 'ENOENT' });
    expect(errorOf(error)).toBe('error: --config: cannot read smg.json (ENOENT)');
    expect(errorOf(new Error('odd'))).toBe('error: --config: cannot read smg.json');
  });

  it('takes the other spellings of sticky sessions', () => {
    const result = load('{"sticky_sessions":true,"sticky_key_idle_secs":1}');
    if (result.kind !== 'run') throw new Error(result.text);
    expect(result.config.routing).toMatchObject({ routingKeyOverride: true, maxIdleSecs: 1 });
  });

  it('takes a byte-order mark', () => {
    expect(load('\uFEFF{}').kind).toBe('run');
  });
});
