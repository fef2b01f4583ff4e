import { legEndpoints } from './core/leg-endpoints';
import { parseCommandLine, type CommandLine } from './parse-command-line';

const VERSIONS = { short: 'smg 1.2.3', verbose: 'smg 1.2.3 (node, commit)' };

interface Outside {
  env?: Record<string, string>;
  file?: string;
}

function launch(argv: readonly string[], { env = {}, file }: Outside = {}): CommandLine {
  const readFile = () => {
    if (file === undefined) throw Object.assign(new Error('secret path'), { code: 'ENOENT' });
    return file;
  };
  return parseCommandLine(argv, { env, readFile }, VERSIONS);
}

function run(argv: readonly string[], outside?: Outside) {
  const result = launch(argv, outside);
  if (result.kind !== 'run') throw new Error(`expected to run: ${result.text}`);
  return result;
}

function errors(argv: readonly string[], outside?: Outside): readonly string[] {
  const result = launch(argv, outside);
  if (result.kind !== 'error') throw new Error(`expected an error, got ${result.kind}`);
  expect(result.exitCode).toBe(2);
  return result.text.split('\n');
}

describe('command line: forms', () => {
  it.each([[['launch']], [['start']], [[]]])('runs with the defaults for %j', (command) => {
    const { config, warnings } = run(command);
    expect(config.listener).toEqual({
      host: '0.0.0.0',
      port: 30000,
      healthCheckPort: undefined,
      corsAllowedOrigins: [],
      docsDisabled: false,
    });
    expect(config.routing.policy).toBe('cache_aware');
    expect(config.retry.maxAttempts).toBe(5);
    expect(config.plugins).toEqual({ modules: [], requiredFilters: [] });
    expect(warnings).toEqual([]);
  });

  it('takes --flag value and --flag=value', () => {
    expect(run(['launch', '--port', '8000', '--host=::1']).config.listener).toMatchObject({
      port: 8000,
      host: '::1',
    });
  });

  it('takes presence flags', () => {
    const { config } = run(['--dp-aware', '--disable-retries', '--log-json']);
    expect(config.workers.dpAware).toBe(true);
    expect(config.retry.disabled).toBe(true);
    expect(config.observability.logJson).toBe(true);
  });

  it.each(['--runtime', '--backend'])('knows the alias %s', (flag) => {
    expect(run([flag, 'vllm']).config.workers.backend).toBe('vllm');
  });

  it('lets lists take zero or more values and accumulate', () => {
    const { config } = run(
      '--worker-urls http://a http://b --dp-aware --worker-urls --worker-urls=http://c'.split(' '),
    );
    expect(config.workers.urls).toEqual(['http://a', 'http://b', 'http://c']);
    expect(run(['--request-id-headers']).config.requests.requestIdHeaders).toEqual([]);
  });

  it('lets append flags repeat, or take several values at once', () => {
    const { config } = run('--plugin a --plugin b c'.split(' '));
    expect(config.plugins.modules).toEqual(['a', 'b', 'c']);
    expect(errors(['--plugin'])).toEqual([
      'error: --plugin: needs a value (write --plugin=VALUE if it starts with -)',
    ]);
  });

  it('splits csv at commas', () => {
    const { config } = run(['--require-filters', 'a, b', '--require-filters=c']);
    expect(config.plugins.requiredFilters).toEqual(['a', 'b', 'c']);
  });

  it('counts the last of repeated values and says so', () => {
    const { config, warnings } = run(['--port', '1', '--port', '2']);
    expect(config.listener.port).toBe(2);
    expect(warnings).toEqual(['--port is given 2 times; the last value counts']);
  });

  it('keeps bootstrap ports with their flag', () => {
    const argv = ['--prefill', 'http://p', '8998', '--prefill', 'http://q', 'none'];
    const decode = ['--decode', 'http://d', '--decode=http://d2'];
    const parsed = launch([...argv, ...decode, '--pd-disaggregation']);
    expect(parsed).toMatchObject({
      kind: 'run',
      config: {
        pd: {
          enabled: true,
          prefill: ['http://p', '8998', 'http://q', 'none'],
          decode: ['http://d', 'http://d2'],
        },
      },
    });
    expect(legEndpoints(['http://p', '8998', 'http://q', 'NONE', 'http://r'])).toEqual([
      { url: 'http://p', bootstrapPort: 8998 },
      { url: 'http://q', bootstrapPort: undefined },
      { url: 'http://r', bootstrapPort: undefined },
    ]);
  });

  it.each([
    [['--prefill', 'http://p'], '--prefill: needs --pd-disaggregation or --enable-igw'],
    [['--decode', 'http://p'], '--decode: needs --pd-disaggregation or --enable-igw'],
    [['--prefill', '8998', '--pd-disaggregation'], 'entry 1 is a bootstrap port that follows'],
    [['--prefill', 'http://p', '1', '2', '--pd-disaggregation'], 'entry 3 is a bootstrap port'],
    [['--decode', 'grpc://p', '--pd-disaggregation'], 'grpc:// is not available'],
    [['--dp-minimum-tokens-scheduler'], 'needs --pd-disaggregation or --enable-igw'],
    [
      ['--pd-disaggregation', '--prefill-policy', 'power_of_two', '--prefill', 'http://p', '1'],
      'power_of_two needs at least 2 --prefill or --enable-igw, got 1',
    ],
    [['--encode', 'http://e'], 'not available in this'],
  ])('refuses %j', (argv, problem) => {
    expect(errors(argv).join('\n')).toContain(problem);
  });

  it('reports all problems of a line together', () => {
    expect(errors(['--port', '0', '--cache-threshold', '2', '--enable-mesh'])).toEqual([
      'error: --port: 0 is not in 1..=65535',
      'error: --cache-threshold: 2 is not in 0..=1',
      'error: --enable-mesh: not available in this version',
    ]);
  });
});

describe('command line: what cannot be understood', () => {
  it.each([
    [['--prot', '1'], 'error: --prot: unknown flag; did you mean --port?'],
    [['--worker-url=http://a'], 'error: --worker-url: unknown flag; did you mean --worker-urls?'],
    [['--zzzzzzzzzz'], 'error: --zzzzzzzzzz: unknown flag'],
    [['--dp-aware=true'], 'error: --dp-aware: takes no value'],
    [['--port'], 'error: --port: needs a value (write --port=VALUE if it starts with -)'],
    [['--port', '1', 'launch'], 'error: flags before launch conflict with it; write them after it'],
    [['-p', '1'], 'error: -p: unknown flag; flags are written --name'],
    [
      ['--dp-aware', 'true'],
      'error: --dp-aware: is followed by an argument that belongs to no flag',
    ],
    [
      ['server'],
      'error: server: unknown command; the commands are launch, start, serve, rl, mock-engine, config-docs, openapi; --help explains',
    ],
  ])('%j', (argv, line) => {
    expect(errors(argv)).toContain(line);
  });

  it('never takes a flag as the value of the flag before it', () => {
    expect(errors(['--api-key', '--log-json'])).toHaveLength(1);
  });

  it('keeps every message on one line, whatever the value', () => {
    expect(errors(['--policy', 'a\nb\u2028\u001b[31m'])).toHaveLength(1);
    expect(errors(['--policy', 'x'.repeat(5000).concat('!')])[0]?.length).toBeLessThan(300);
  });
});

describe('command line: answers that do not run', () => {
  it.each(['--version', '-V'])('prints the short version for %s before anything else', (flag) => {
    expect(launch(['--port', '0', flag])).toMatchObject({ kind: 'print', text: VERSIONS.short });
  });

  it('prints the long version', () => {
    expect(launch(['--version-verbose'])).toMatchObject({ text: VERSIONS.verbose, exitCode: 0 });
  });

  it.each([['--help'], ['launch', '--help'], ['-h']])('prints grouped help for %s', (...argv) => {
    const result = launch(argv);
    if (result.kind !== 'print') throw new Error('expected help');
    for (const part of ['launch', 'mock-engine', 'Routing:', '--worker-urls <URL>...', '--help']) {
      expect(result.text).toContain(part);
    }
    expect(result.text).not.toContain('--enable-mesh');
  });

  it('checks a configuration', () => {
    expect(launch(['--check-config'])).toMatchObject({
      kind: 'print',
      text: 'configuration is valid',
      exitCode: 0,
    });
    expect(errors(['--check-config', '--port', '0'])).toHaveLength(1);
  });
});

describe('command line: precedence', () => {
  const file = JSON.stringify({ port: 1000, log_level: 'warn', worker_urls: ['http://file'] });

  it('is flag over file over default', () => {
    const { config } = run(['--config', 'f.json', '--port', '2000', '--worker-urls', 'http://x'], {
      file,
    });
    expect(config.listener.port).toBe(2000);
    expect(config.workers.urls).toEqual(['http://x']);
    expect(config.observability.logLevel).toBe('warn');
    expect(config.listener.host).toBe('0.0.0.0');
  });

  it('still refuses a bad value of the file that a flag overrides', () => {
    expect(errors(['--config', 'f.json', '--port', '1'], { file: '{"port":0}' })).toEqual([
      'error: port (config file): 0 is not in 1..=65535',
    ]);
  });

  it('reads the environment variables of the contract, an empty one being unset', () => {
    expect(errors([], { env: { JWT_ISSUER: 'https://idp' } })).toEqual([
      'error: --jwt-issuer (JWT_ISSUER): needs --jwt-audience',
    ]);
    expect(run([], { env: { JWT_ISSUER: '' } }).warnings).toEqual([]);
  });

  it('has no catch-all prefix: what Kubernetes injects is not an option', () => {
    const env = { SMG_PORT: 'tcp://10.0.0.1:30000', SMG_HOST: 'x y', PORT: 'x', API_KEY: 'k' };
    expect(run([], { env }).config.listener.port).toBe(30000);
  });
});

describe('command line: secrets', () => {
  const SECRET = 'Sk-do-not-show';

  it.each([
    [['--api-key', ` ${SECRET}`]],
    [['--api-key', `-${SECRET}`]],
    [['--api-key', `--${SECRET}`]],
    [['--api-kye', SECRET]],
    [[`--api-kye=${SECRET}`]],
    [['--dp-aware', SECRET]],
    [['launch', SECRET]],
    [[SECRET, '--dp-aware']],
    [['--', SECRET]],
    [['--no-such-flag', SECRET, '--dp-aware']],
    [['--tenant-api-key', SECRET]],
    [['--tenant-api-key', `:${SECRET}`]],
    [['--tenant-api-key', `${SECRET}: ${SECRET}`]],
    [['--tenant-api-key', `a:${SECRET}`, `b:${SECRET}`]],
    [['--api-key', SECRET, '--tenant-api-key', `a:${SECRET}`]],
    [['--control-plane-api-keys', SECRET]],
    [['--control-plane-api-keys', `1:x:${SECRET}:k`]],
    [['--control-plane-api-keys', `1:x:admin: ${SECRET}`]],
    [['--control-plane-api-keys', `1:x:admin:${SECRET}`, `1:x:admin:${SECRET}`]],
    [['--jwt-issuer', `https://u:${SECRET}@idp`]],
    [['--history-backend', 'postgres', '--postgres-db-url', `http://u:${SECRET}@db`]],
    [['--history-backend', 'redis', '--redis-url', `u:${SECRET}@db`]],
    [['--worker-urls', `http://user:${SECRET}@host`]],
    [['--worker-urls', `ftp://user:${SECRET}@host`]],
    [['--worker-urls', `http://host:99999?key=${SECRET}`]],
  ])('%j is refused without repeating it', (argv) => {
    expect(errors(argv).join('\n')).not.toContain(SECRET);
  });

  it('masks them in --print-config', () => {
    const argv = ['--print-config', '--api-key', SECRET, '--tenant-api-key', `acme:${SECRET}2`];
    const result = launch(argv);
    expect(result.kind).toBe('print');
    expect(JSON.stringify(result)).not.toContain(SECRET);
    if (result.kind !== 'print') throw new Error('unreachable');
    expect(JSON.parse(result.text)).toMatchObject({ api_key: '***', tenant_api_key: ['acme:***'] });
  });

  it('refuses a mask given back as a secret', () => {
    expect(errors(['--config', 'f'], { file: '{"api_key":"***"}' })[0]).toContain('holds the mask');
  });
});
