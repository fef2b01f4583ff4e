import { parseCommandLine } from '../parse-command-line';
import { OPTIONS_BY_FLAG } from './option-table';
import { type Parsed } from './parsed';

/** Reads a value as the flag would, whether or not the option is available yet. */
function read(flag: string, ...words: string[]): Parsed<unknown> {
  const option = OPTIONS_BY_FLAG.get(flag);
  if (option === undefined) throw new Error(`no option ${flag}`);
  return option.kind.fromArgs(words);
}

/** flag, values that hold, values that break the rule. */
const RULES: [flag: string, good: string[], bad: string[]][] = [
  ['port', ['1', '65535', '+80'], ['0', '65536', '-1', '', '0x10', '1e3', '8.5', ' 80', 'http']],
  ['health-check-port', ['1'], ['0', '70000']],
  ['prometheus-port', ['29000'], ['0', '65536']],
  ['host', ['0.0.0.0', '::', '[::1]', 'gw.local', 'fe80::1%eth0'], ['', 'a b', 'http://x', 'a/b']],
  ['worker-startup-timeout-secs', ['1'], ['0', '-5']],
  ['worker-startup-delay', ['0'], ['-1']],
  ['worker-startup-check-interval', ['1'], ['0']],
  ['job-queue-capacity', ['1', '1000000'], ['0', '1000001']],
  ['job-queue-concurrency', ['1', '100000'], ['0', '100001']],
  ['zmq-engine-count', ['1'], ['0']],
  ['backend', ['auto', 'sglang', 'vllm', 'trtllm', 'tokenspeed'], ['SGLang', 'openai', 'x']],
  ['policy', ['cache_aware', 'manual', 'my_policy2'], ['Random', '', 'a-b', '2a']],
  ['prefill-policy', ['random'], ['passthrough']],
  ['decode-policy', ['power_of_two'], ['passthrough', 'bucket']],
  ['encode-policy', ['consistent_hashing'], ['cache_aware']],
  ['cache-threshold', ['0', '1', '0.5', '.5', '1e-3'], ['-0.1', '1.01', 'NaN', 'inf', '']],
  ['balance-abs-threshold', ['0', '64'], ['-1', '1.5']],
  ['balance-rel-threshold', ['1', '1.0', '99'], ['0.99', 'Infinity', '1e999']],
  ['balance-token-usage-threshold', ['0.1', '1'], ['0', '-1']],
  ['overload-token-usage-threshold', ['0.9'], ['0']],
  ['overlap-decay', ['0', '1'], ['-0.1', 'nan']],
  ['selection-temperature', ['0'], ['-1', 'inf']],
  ['eviction-interval', ['0', '1'], ['-1']],
  ['max-tree-size', ['1'], ['0']],
  ['block-size', ['1'], ['0']],
  ['cache-boundaries', ['1,2,3', '16'], ['0,1', '2,1', '2,2', 'x']],
  ['cache-index', ['tree', 'hash'], ['list']],
  ['cache-ttl-secs', ['1'], ['0']],
  ['assignment-mode', ['random', 'min_load', 'min_group', 'delegate'], ['max']],
  ['routing-key-headers', ['X-Key', "!#$%&'*+.^_`|~"], ['', 'a b', 'a:b', 'é']],
  ['worker-filter-header', ['x-labels', ' x-labels ', '', '  '], ['a b', 'x:y']],
  ['prefix-token-count', ['1'], ['0']],
  ['prefix-hash-load-factor', ['1'], ['0.9']],
  ['least-load-kv-pressure-weight', ['0'], ['-1']],
  ['least-load-default-throughput', ['1'], ['0']],
  ['least-load-mean-prefill-tokens', ['1'], ['0']],
  ['worker-overload-waiting-requests', ['1'], ['0']],
  ['worker-overload-token-usage', ['1', '0.5'], ['0', '1.1']],
  ['load-monitor-interval', ['1'], ['0']],
  ['model-alias', ['a=b', 'a=b=c', ' a = b '], ['a', '=b', 'a=', 'a=a', '']],
  ['prefill', ['http://p', '8998', 'none', 'NONE'], ['0', '65536', 'ftp://x']],
  ['service-discovery-port', ['80'], ['0']],
  ['model-id-from', ['namespace', 'Namespace', 'label:a', 'annotation:a'], ['label:', 'pod']],
  ['selector', ['a=b', 'a='], ['a', '=b']],
  ['request-timeout-secs', ['1'], ['0', '1.5', '10s']],
  ['max-payload-size', ['1'], ['0', '1MB', '99999999999999999999']],
  ['stream-body-stall-timeout-secs', ['0'], ['-1']],
  ['body-idle-timeout-secs', ['0', '30'], ['-1']],
  ['hot-lane', ['on', 'off'], ['true', 'ON', '']],
  ['storage-context-headers', ['x-a=k'], ['x-a=', '=k']],
  ['max-concurrent-requests', ['-1', '0', '64'], ['x', '3000000000']],
  ['rate-limit-tokens-per-second', ['0'], ['-1']],
  ['retry-max-retries', ['1'], ['0', '4294967296']],
  ['retry-initial-backoff-ms', ['1'], ['0']],
  ['retry-backoff-multiplier', ['1'], ['0.5']],
  ['retry-jitter-factor', ['0', '1'], ['1.1', '-0.1']],
  ['cb-failure-threshold', ['1'], ['0']],
  ['cb-success-threshold', ['1'], ['0']],
  ['cb-timeout-duration-secs', ['1'], ['0']],
  ['cb-window-duration-secs', ['1'], ['0']],
  ['health-check-endpoint', ['/', '/health?x=1'], ['health', '', '/a b', '/a\r\nb']],
  ['drain-settle-secs', ['0'], ['-1']],
  ['api-key', ['k', 'a b'], ['', ' k', 'k ', 'a\nb', 'ключ', '***']],
  ['tenant-api-key', ['t:k', 't:k:with:colons'], ['t', ':k', 't:', ' t:k', 't :k', 't: k', 't:k ']],
  ['log-level', ['debug', 'info', 'warn', 'error'], ['INFO', 'trace', '']],
  ['prometheus-duration-buckets', ['0.1', '10'], ['0', '-1', 'x']],
  ['mesh-server-name', ['gw'], ['', 'a:b']],
  ['plugin', ['./p.js', '@acme/p'], ['']],
  ['require-filters', ['worker-labels', 'a,b'], ['a b', '!']],
  [
    'worker-urls',
    [
      'http://h',
      'https://h:1',
      'grpc://h:1',
      'grpcs://h',
      'ipc:///tmp/s',
      'http://[::1]:80/base',
      'http://h:1@3',
      'http://h/@',
    ],
    [
      ...['h:1', 'HTTP://h', 'Http://h', 'ftp://h', 'http://', 'http:///x', 'http://:80', 'ipc://'],
      ...['', 'http://u@h', 'http://u:p@h', 'http://h:70000', 'http://a b', 'http:/h'],
    ],
  ],
];

describe('value rules', () => {
  describe.each(RULES)('--%s', (flag, good, bad) => {
    it.each(good)('takes %j', (word) => {
      expect(read(flag, word)).toMatchObject({ ok: true });
    });

    it.each(bad)('refuses %j', (word) => {
      expect(read(flag, word)).toMatchObject({ ok: false });
    });
  });

  it('brings values into one form', () => {
    expect(read('host', '[::1]')).toEqual({ ok: true, value: '::1' });
    expect(read('routing-key-headers', 'X-A', 'x-B')).toEqual({ ok: true, value: ['x-a', 'x-b'] });
    expect(read('worker-filter-header', ' X-L ')).toEqual({ ok: true, value: 'x-l' });
    expect(read('worker-filter-header', ' ')).toEqual({ ok: true, value: undefined });
    expect(read('prometheus-duration-buckets', '2', '1', '2')).toMatchObject({ value: [1, 2] });
    expect(read('model-alias', 'a=b=c')).toMatchObject({
      value: [{ alias: 'a', canonical: 'b=c' }],
    });
    expect(read('tenant-api-key', 't:k:1')).toMatchObject({
      value: [{ tenantId: 't', key: 'k:1' }],
    });
    expect(read('hot-lane', 'off')).toEqual({ ok: true, value: false });
  });

  it('names the entry of a list that is wrong', () => {
    expect(read('worker-urls', 'http://a', 'b')).toMatchObject({
      problem: expect.stringMatching(/^entry 2: b does not start with http:/) as string,
    });
  });

  it.each([
    ['request-timeout-secs', '999999999', 2_147_483],
    ['retry-max-backoff-ms', '99999999999', 2_147_483_647],
    ['health-failure-threshold', '0', 1],
    ['health-success-threshold', '0', 1],
    ['health-check-timeout-secs', '0', 1],
    ['health-check-interval-secs', '0', 1],
  ])('--%s %s is taken as %d, with a warning', (flag, word, value) => {
    expect(read(flag, word)).toEqual({ ok: true, value, note: `${word} is taken as ${value}` });
    const line = parseCommandLine(
      [`--${flag}`, word],
      { env: {}, readFile: () => '' },
      { short: '', verbose: '' },
    );
    expect(line).toMatchObject({ warnings: [`--${flag}: ${word} is taken as ${value}`] });
  });
});
