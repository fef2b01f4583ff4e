import { loadConfig } from '../load-config';
import { parseCommandLine } from '../parse-command-line';

function launch(line: string) {
  const io = { env: {}, readFile: () => '' };
  const result = parseCommandLine(line.split(' '), io, { short: '', verbose: '' });
  return result.kind === 'error' ? result.text : result.kind;
}

describe('cross checks', () => {
  it.each([
    ['--policy power_of_two', 'at least 2 --worker-urls or --enable-igw, got 0'],
    ['--policy power_of_two --worker-urls http://a', 'got 1'],
    ['--worker-urls grpc://a:1', '--worker-urls: grpc:// is not available in this version'],
    ['--worker-urls http://a ipc:///s', 'entry 2: ipc:// is not available in this version'],
    ['--policy nope', '--policy: nope is not one of cache_aware'],
    ['--eviction-interval 0', '--eviction-interval: 0 is not > 0'],
    ['--eviction-interval 0 --policy random --decode-policy cache_aware', '0 is not > 0'],
    ['--prefill-policy power_of_two', '--prefill-policy: power_of_two needs at least 2 --prefill'],
    ['--decode-policy power_of_two', '--decode-policy: power_of_two needs at least 2 --decode'],
    ['--prefill-policy passthrough', 'is not one of'],
    ['--decode-policy bucket', 'is not one of'],
    [
      '--queue-timeout-secs 0',
      '--queue-timeout-secs: 0 is not > 0, which --queue-size above 0 needs',
    ],
    ['--cache-index hash', '--cache-index: hash needs --cache-boundaries'],
    ['--cache-boundaries 8,8', 'not strictly ascending'],
    [
      '--port 9000 --health-check-port 9000',
      '--health-check-port: 9000 is already the port of --port',
    ],
    ['--port 29000', '--prometheus-port: 29000 is already the port of --port'],
    ['--health-check-port 29000', '29000 is already the port of --health-check-port'],
    [
      '--retry-max-backoff-ms 10',
      '--retry-max-backoff-ms: 10 is below --retry-initial-backoff-ms 50',
    ],
    ['--model-alias a=b --model-alias a=c', '--model-alias: "a" stands for both "b" and "c"'],
    ['--control-plane-api-keys 1:a:admin:k 1:b:user:l', 'entry 2 repeats an id'],
    ['--api-key k --control-plane-api-keys 1:a:admin:k', 'entry 1 has the same key as --api-key'],
    ['--api-key k --api-key-file f', '--api-key-file: the key is given by --api-key as well'],
    ['--jwt-issuer https://idp', '--jwt-issuer: needs --jwt-audience'],
    ['--jwt-audience smg', '--jwt-audience: needs --jwt-issuer'],
    ['--jwt-jwks-uri https://idp/keys', '--jwt-jwks-uri: needs --jwt-issuer'],
    ['--jwt-role-mapping a=admin', '--jwt-role-mapping: needs --jwt-issuer'],
    ['--tls-cert-path c', '--tls-cert-path: needs --tls-key-path'],
    ['--tls-key-path k', '--tls-key-path: needs --tls-cert-path'],
    ['--client-cert-path c', '--client-cert-path: needs --client-key-path'],
    ['--tenant-rate-limit-enabled', 'needs --tenant-rate-limit-config'],
    ['--audit-required', '--audit-required: needs --audit-log-file'],
    ['--disable-audit-logging --audit-log-file f', 'needs --disable-audit-logging left out'],
    ['--tenant-api-key a:k --tenant-api-key b:k', 'entry 2 has the same key as entry 1'],
    ['--api-key k --tenant-api-key a:k', 'entry 1 has the same key as --api-key'],
    ['--enable-rl --rl-control-timeout-secs 0', 'rl.control_timeout_secs must be >= 1'],
    ['--enable-rl --rl-fanout-concurrency 0', 'rl.fanout_concurrency must be >= 1'],
    ['--rl-version-policy latest-only', 'rl.version_policy requires rl.enabled'],
    ['--rl-router-verbs', '--rl-router-verbs: needs --enable-rl'],
    ['--history-backend oracle', '--history-backend: oracle is not available in this version'],
    ['--history-backend postgres', '--history-backend: postgres needs --postgres-db-url'],
    ['--history-backend redis', '--history-backend: redis needs --redis-url'],
    ['--history-backend redis --redis-url localhost:6379', '--redis-url: is not a URL that starts'],
    [
      '--history-backend redis --redis-url redis://h --redis-retention-days 0',
      '--redis-retention-days: 0 keeps nothing',
    ],
  ])('%s is refused', (line, message) => {
    expect(launch(line)).toContain(message);
  });

  it.each([
    '--policy power_of_two --worker-urls http://a http://b',
    '--policy power_of_two --enable-igw',
    '--policy my_policy --plugin p',
    '--prefill-policy power_of_two --decode-policy power_of_two --enable-igw',
    '--prefill-policy bucket --decode-policy round_robin',
    '--cache-index hash --cache-boundaries 64,256',
    '--policy manual --eviction-interval 0 --assignment-mode min_group --sticky-key-idle-secs 9',
    '--routing-key-override --routing-key-headers x-session-id',
    '--sticky-sessions',
    '--eviction-interval 0 --policy random',
    '--model-alias a=b --model-alias a=b --model-alias c=b',
    '--retry-initial-backoff-ms 50 --retry-max-backoff-ms 50',
    '--tenant-api-key a:k1 --tenant-api-key a:k2',
    '--rl-control-timeout-secs 0 --rl-fanout-concurrency 0 --rl-version-policy any',
    '--enable-rl --rl-version-policy latest-only',
    '--enable-rl --rl-router-verbs',
    '--history-backend postgres --postgres-db-url postgresql://u:p@h/db --postgres-pool-max-size 4',
    '--history-backend redis --redis-url rediss://h --redis-retention-days -1',
    '--history-backend none --postgres-db-url postgres://h',
    '--queue-size 0 --queue-timeout-secs 0',
  ])('%s is fine', (line) => {
    expect(launch(line)).toBe('run');
  });

  it('hold for embedded configurations too', () => {
    expect(() => loadConfig({ routing: { policy: 'power_of_two' } })).toThrow('at least 2');
  });
});
