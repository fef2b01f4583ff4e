import { parseServeLine, workerUrlOf, type ServeLine } from './parse-serve-line';

const VERSIONS = { short: 'smg 1', verbose: 'smg 1 verbose' };

interface Given {
  readonly env?: Record<string, string>;
  readonly file?: string;
}

function parse(argv: readonly string[], { env = {}, file = '{}' }: Given = {}): ServeLine {
  return parseServeLine(argv, { env, readFile: () => file }, VERSIONS);
}

function run(argv: readonly string[], given: Given = {}) {
  const line = parse(argv, given);
  if (line.kind !== 'run') throw new Error(line.text);
  return line;
}

function errors(argv: readonly string[], given: Given = {}): readonly string[] {
  const line = parse(argv, given);
  if (line.kind !== 'error') throw new Error('expected errors');
  expect(line.exitCode).toBe(2);
  return line.text.split('\n');
}

describe('smg serve: defaults', () => {
  it('are those of SMG, but for the connection mode', () => {
    const { serve, config, engineArgs } = run([]);
    expect(serve).toEqual({
      ...{ backend: 'sglang', connectionMode: 'http', host: '127.0.0.1', port: 8080, engines: 1 },
      ...{ workerHost: '127.0.0.1', workerBasePort: 31000, startupTimeoutSecs: 300 },
      ...{ tokenUsageDetails: false, argFallbackDisabled: false },
      ...{ engineCommand: undefined, engineExit: 'stop' },
    });
    expect(config.listener).toMatchObject({ host: '127.0.0.1', port: 8080 });
    expect(config.workers.urls).toEqual(['http://127.0.0.1:31000']);
    expect(engineArgs).toEqual([]);
  });

  it('the backend may come from the environment; a flag wins', () => {
    const env = { SMG_DEFAULT_BACKEND: 'vllm' };
    expect(run([], { env }).serve.backend).toBe('vllm');
    expect(run(['--backend', 'sglang'], { env }).serve.backend).toBe('sglang');
    expect(errors([], { env: { SMG_DEFAULT_BACKEND: 'gguf' } })[0]).toContain(
      '--backend (SMG_DEFAULT_BACKEND): gguf is not one of sglang, vllm',
    );
  });
});

describe('smg serve: who gets what', () => {
  it('tells its own flags, those of the gateway and those of the engine apart', () => {
    const line = run([
      ...['meta/llama', '--dp-size=2', '--tp-size', '4', '--port', '9000', '--trust-remote-code'],
      ...['--router-policy', 'round_robin', '--mem-fraction-static=0.8', '--router-log-level=warn'],
      ...['--router-enable-rl', '--worker-base-port', '32000', '-pp', '2'],
    ]);
    expect(line.engineArgs).toEqual([
      ...['meta/llama', '--tp-size', '4', '--trust-remote-code'],
      ...['--mem-fraction-static=0.8', '-pp', '2'],
    ]);
    expect(line.serve).toMatchObject({ engines: 2, port: 9000, workerBasePort: 32000 });
    expect(line.config.routing.policy).toBe('round_robin');
    expect(line.config.rl.enabled).toBe(true);
    expect(line.config.observability.logLevel).toBe('warn');
    expect(line.config.workers.urls).toEqual(['http://127.0.0.1:32000', 'http://127.0.0.1:32001']);
    expect(line.warnings).toEqual([]);
  });

  it('gives the engine everything behind --', () => {
    const words = ['--port', '1', '--router-policy', 'x', '--help', '--', 'y'];
    expect(run(['--dp-size', '2', '--', ...words]).engineArgs).toEqual(words);
  });

  it('strips one prefix: a flag of the gateway may begin with router- itself', () => {
    expect(errors(['--router-router-selector', 'a=b'])).toEqual([
      'error: --router-router-selector: not available in this version',
    ]);
    expect(errors(['--router-selector', 'a=b'])[0]).toContain('--router-selector: not available');
  });

  it('takes lists and aliases as smg launch does', () => {
    const { config, engineArgs } = run([
      ...['--router-routing-key-headers', 'a', 'b', '--router-spill-abs-threshold', '9', '-x', 'y'],
    ]);
    expect(config.routing.routingKeyHeaders).toEqual(['a', 'b']);
    expect(config.routing.balanceAbsThreshold).toBe(9);
    expect(engineArgs).toEqual(['-x', 'y']);
  });

  it('--worker-urls is dropped, with its values', () => {
    const { engineArgs, config, warnings } = run(['--worker-urls', 'http://a', 'http://b', '-v']);
    expect(engineArgs).toEqual(['-v']);
    expect(config.workers.urls).toHaveLength(1);
    expect(warnings[0]).toContain('--worker-urls has no effect');
  });

  it('reads --router-config; a prefixed flag wins', () => {
    const file = '{"policy":"random","log_level":"warn","port":1}';
    const { config } = run(
      ['--router-config', 'f', '--dp-size', '2', '--router-policy', 'least_load'],
      {
        file,
      },
    );
    expect(config.routing.policy).toBe('least_load');
    expect(config.observability.logLevel).toBe('warn');
    expect(config.listener.port).toBe(8080);
  });
});

describe('smg serve: what is refused', () => {
  it.each([
    [['--connection-mode', 'grpc'], '--connection-mode: grpc is not available in this version'],
    [['--backend', 'tokenspeed'], '--backend: tokenspeed is not available in this version'],
    [['--backend', 'gguf'], '--backend: gguf is not one of sglang, vllm'],
    [['--dp-size', '0'], '--data-parallel-size: 0 is not in 1..=256'],
    [['--port'], '--port: needs a value (write --port=VALUE if it starts with -)'],
    [['--enable-token-usage-details=1'], '--enable-token-usage-details: takes no value'],
    [['--router-enable-rl=1'], '--router-enable-rl: takes no value'],
    [['--router-policy'], '--router-policy: needs a value'],
    [['--router-polcy', 'random'], '--router-polcy: unknown flag; did you mean --router-policy?'],
    [['--router-port', '1'], '--router-port: is written --port'],
    [['--router-host', 'a'], '--router-host: is written --host'],
    [['--router-worker-urls', 'http://a'], '--router-worker-urls: the workers are the engines'],
    [['--router-upstream-http2'], '--router-upstream-http2: not available in this version'],
    [['--dp-size', '2', '--router-policy', 'nope'], '--router-policy: nope is not one of'],
    [['--router-api-key', ' Sk-secret'], '--router-api-key: starts or ends with a space'],
    [['--router-prometheus-port', '8080'], '--router-prometheus-port: 8080 is already the port'],
  ])('%j', (argv, text) => {
    const all = errors(argv).join('\n');
    expect(all).toContain(`error: ${text}`);
    expect(all).not.toContain('Sk-secret');
  });

  it('all problems together', () => {
    expect(errors(['--port', '0', '--router-log-level', 'x', '--backend', 'y'])).toHaveLength(3);
  });
});

describe('smg serve: options of the gateway taken from the engine', () => {
  it('have the same name and no default', () => {
    const argv = ['--api-key', 'key', '--policy', 'random', '--log-level', 'error'];
    const { config, engineArgs } = run(argv);
    expect(config.auth.apiKey).toBe('key');
    expect(config.observability.logLevel).toBe('info');
    expect(engineArgs).toEqual(argv);
  });

  it('unless a flag, a file or --router-disable-arg-fallback says otherwise', () => {
    const key = ['--api-key=engine'];
    expect(run([...key, '--router-api-key', 'own']).config.auth.apiKey).toBe('own');
    const file = '{"api_key":"filed"}';
    expect(run([...key, '--router-config', 'f'], { file }).config.auth.apiKey).toBe('filed');
    expect(run([...key, '--router-disable-arg-fallback']).config.auth.apiKey).toBeUndefined();
  });

  it('never stop the start where the gateway has no such option yet', () => {
    expect(
      run(['--model-path', '/m', '--tool-call-parser', 'x', '--chat-template', 'y']),
    ).toMatchObject({ kind: 'run' });
  });

  it('a value of the engine the gateway cannot have is told by its name', () => {
    expect(errors(['--api-key', 'k\u00e9y'])).toEqual([
      'error: --api-key: has a character outside printable ASCII',
    ]);
  });
});

describe('smg serve: one engine', () => {
  it('has no retries, no breaker and passthrough, whatever is asked', () => {
    const { config, warnings } = run([
      '--router-policy',
      'random',
      '--router-retry-max-retries',
      '9',
    ]);
    expect(config.routing.policy).toBe('passthrough');
    expect(config.retry.disabled).toBe(true);
    expect(config.breaker.disabled).toBe(true);
    expect(warnings).toEqual([
      '--router-policy has no effect with --data-parallel-size 1',
      '--router-retry-max-retries has no effect with --data-parallel-size 1',
    ]);
  });

  it('two have the defaults of the gateway, and two are enough for power_of_two', () => {
    const { config } = run(['--dp-size', '2', '--router-policy', 'power_of_two']);
    expect(config.routing.policy).toBe('power_of_two');
    expect(config.retry.disabled).toBe(false);
    expect(config.breaker.disabled).toBe(false);
  });
});

describe('smg serve: answers that do not run', () => {
  it('help names every flag; what is behind -- is not asked', () => {
    const line = parse(['--port', '0', '--help']);
    expect(line).toMatchObject({ kind: 'print', exitCode: 0 });
    for (const flag of ['--backend', '--dp-size', '--router-<flag>', '--engine-command']) {
      expect(line.kind === 'print' && line.text).toContain(flag);
    }
    expect(parse(['--', '--help']).kind).toBe('run');
    expect(parse(['-V'])).toMatchObject({ kind: 'print', text: 'smg 1' });
  });

  it('checks and prints the configuration of the gateway', () => {
    expect(parse(['--router-check-config'])).toMatchObject({ text: 'configuration is valid' });
    const line = parse(['--router-print-config', '--api-key', 'secret-key']);
    expect(line.kind === 'print' && JSON.parse(line.text)).toMatchObject({
      api_key: '***',
      port: 8080,
    });
  });
});

describe('workerUrlOf', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:1'],
    ['0.0.0.0', 'http://127.0.0.1:1'],
    ['::', 'http://[::1]:1'],
    ['fd00::1', 'http://[fd00::1]:1'],
    ['gpu-0', 'http://gpu-0:1'],
  ])('%s', (host, url) => {
    expect(workerUrlOf(host, 1)).toBe(url);
  });
});
