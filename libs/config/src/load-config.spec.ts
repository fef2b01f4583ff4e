import * as fc from 'fast-check';
import { ConfigError } from './core/config-error';
import { type PartialGatewayConfig } from './core/gateway-config';
import { printConfig } from './core/print-config';
import { loadConfig } from './load-config';
import { parseCommandLine } from './parse-command-line';

describe('loadConfig', () => {
  it('fills in the defaults of the command line', () => {
    const line = parseCommandLine([], { env: {}, readFile: () => '' }, { short: '', verbose: '' });
    expect(line).toMatchObject({ kind: 'run', config: loadConfig() });
    expect(loadConfig().routing.policy).toBe('cache_aware');
  });

  it('takes typed values', () => {
    const config = loadConfig({
      auth: { tenantApiKeys: [{ tenantId: 't', key: 'k' }], apiKey: undefined },
      workers: { modelAliases: [{ alias: 'a', canonical: 'b' }] },
      requests: { hotLane: false },
    });
    expect(config.auth.tenantApiKeys).toEqual([{ tenantId: 't', key: 'k' }]);
    expect(config.workers.modelAliases).toEqual([{ alias: 'a', canonical: 'b' }]);
    expect(config.requests.hotLane).toBe(false);
  });

  it('is frozen to the leaves, and leaves the argument alone', () => {
    const urls = ['http://a'];
    const config = loadConfig({
      workers: { urls, modelAliases: [{ alias: 'a', canonical: 'b' }] },
    });
    for (const part of [
      config,
      config.workers,
      config.workers.urls,
      config.workers.modelAliases[0],
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
    expect(Object.isFrozen(urls)).toBe(false);
  });

  it('reports every problem by its key', () => {
    const partial = { listener: { port: 0, pork: 1 }, nowhere: {}, retry: { maxAttempts: 0 } };
    expect(() => loadConfig(partial as unknown as PartialGatewayConfig)).toThrow(ConfigError);
    try {
      loadConfig({ listener: { port: 0 }, retry: { maxAttempts: 0 } });
    } catch (error) {
      expect((error as ConfigError).problems).toEqual([
        'listener.port: 0 is not in 1..=65535',
        'retry.maxAttempts: 0 is not in 1..=4294967295',
      ]);
    }
    expect.assertions(2);
  });

  it('accepts free ports and plug-in policies only when asked to', () => {
    const free = { listener: { port: 0 }, observability: { prometheusPort: 0 } };
    expect(() => loadConfig(free)).toThrow('listener.port: 0');
    expect(loadConfig(free, { ephemeralPorts: true }).listener.port).toBe(0);
    const policy = { routing: { policy: 'mine' } };
    expect(() => loadConfig(policy)).toThrow('mine is not one of');
    expect(loadConfig(policy, { pluginPolicies: true }).routing.policy).toBe('mine');
  });
});

describe('printConfig', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  const header = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/);
  const count = fc.integer({ min: 1, max: 1_000_000 });
  const partials: fc.Arbitrary<PartialGatewayConfig> = fc.record(
    {
      listener: fc.record(
        {
          port: fc.integer({ min: 1, max: 9999 }),
          host: fc.ipV4(),
          healthCheckPort: fc.constant(10_000),
        },
        { requiredKeys: [] },
      ),
      workers: fc.record(
        {
          urls: fc.array(
            fc.webAuthority().map((authority) => `http://${authority.replace(/^.*@/, '')}`),
          ),
          startupDelaySecs: count,
          backend: fc.constantFrom('auto', 'sglang', 'vllm', 'trtllm', 'tokenspeed'),
          dpAware: fc.boolean(),
          modelAliases: fc
            .uniqueArray(name, { maxLength: 4 })
            .map((aliases) => aliases.map((alias) => ({ alias, canonical: `${alias}/x=y` }))),
        },
        { requiredKeys: [] },
      ),
      routing: fc.record(
        {
          policy: fc.constantFrom('cache_aware', 'round_robin', 'random', 'passthrough'),
          cacheThreshold: fc.double({ min: 0, max: 1, noNaN: true }),
          balanceRelThreshold: fc.double({ min: 1, max: 1e300, noNaN: true }),
          routingKeyHeaders: fc.array(header),
          workerFilterHeader: fc.option(header, { nil: undefined }),
          enableIgw: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      requests: fc.record({ timeoutSecs: count, hotLane: fc.boolean() }, { requiredKeys: [] }),
      retry: fc.record({
        jitterFactor: fc.double({ min: 0, max: 1, noNaN: true }),
        disabled: fc.boolean(),
      }),
      observability: fc.record({
        prometheusDurationBuckets: fc.array(fc.double({ min: 1e-9, max: 1e9, noNaN: true })),
        logLevel: fc.constantFrom('debug', 'info', 'warn', 'error'),
      }),
      plugins: fc.record({
        modules: fc.array(fc.string({ minLength: 1 })),
        requiredFilters: fc.array(name),
      }),
    },
    { requiredKeys: [] },
  );

  it('prints a file that yields the same configuration', () => {
    fc.assert(
      fc.property(partials, (partial) => {
        const config = loadConfig(partial);
        const io = { env: {}, readFile: () => printConfig(config) };
        const line = parseCommandLine(['--config', 'f'], io, { short: '', verbose: '' });
        expect(line).toEqual({ kind: 'run', config, warnings: [] });
      }),
      { numRuns: 200 },
    );
  });
});
