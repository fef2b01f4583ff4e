import { ConfigError, loadConfig, parseCommandLine } from '@smg/config';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { generate } from './support/bodies';
import { startRl, type RlGateway } from './support/rl';

const POLICY = 'x-smg-version-policy';

describe('without --enable-rl', () => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway({}, { engines: [engine] });
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  it.each([
    ['[RL1]', 'GET', '/v1/rl/workers'],
    ['[RL2]', 'POST', '/v1/rl/engine/flush_cache?selector=engine%3Dsglang'],
    ['', 'GET', '/v1/rl/workers/x'],
    ['', 'POST', '/v1/rl/workers/x/engine/flush_cache'],
    ['', 'POST', '/v1/rl/workers/x/version'],
    ['', 'POST', '/v1/rl/state?selector=a%3Db'],
    ['', 'PUT', '/v1/rl/workers'],
  ])('%s %s %s is 404 without a body, as any unknown path', async (_, method, path) => {
    const shape = ({ status, text, headers }: Answer): unknown => ({
      status,
      text,
      names: Object.keys(headers).sort(),
    });
    const got = await send(gateway.url + path, { method });
    expect(got.status).toBe(404);
    expect(got.headers['content-length']).toBe('0');
    const unknown = await send(`${gateway.url}/v1/nothing-here`, { method });
    expect(shape(got)).toEqual(shape(unknown));
  });

  it('[RL3] a bogus policy header is ignored, and answers carry no stamp of RL', async () => {
    const names = ({ headers }: Answer): string[] => Object.keys(headers).sort();
    const plain = await send(`${gateway.url}/generate`, { body: generate() });
    const bogus = await send(`${gateway.url}/generate`, {
      headers: { [POLICY]: 'nonsense' },
      body: generate({ mock_meta_info: { weight_versions: [1, 2], weight_version: '2' } }),
    });
    expect([plain.status, bogus.status]).toEqual([200, 200]);
    expect(bogus.headers['x-smg-routed-worker-id']).toBe(engine.url);
    expect(names(bogus)).toEqual(names(plain));
    expect(names(plain).filter((name) => name.startsWith('x-smg-'))).toEqual([
      'x-smg-routed-worker-id',
    ]);
    expect(gateway.rawLogs.join('')).toContain('candidate filters: none');
  });

  it('[RL10] there is no smg_rl_ series', async () => {
    expect(await gateway.metrics()).not.toContain('smg_rl_');
  });
});

describe('the RL options', () => {
  const launch = (line: string, file = '{}'): ReturnType<typeof parseCommandLine> =>
    parseCommandLine(
      line.split(' ').filter(Boolean),
      { env: {}, readFile: () => file },
      { short: '', verbose: '' },
    );

  it('[RL4] defaults: off, 600, 32, any', () => {
    expect(loadConfig().rl).toEqual({
      enabled: false,
      controlTimeoutSecs: 600,
      fanoutConcurrency: 32,
      routerVerbs: false,
      versionPolicy: 'any',
    });
  });

  it.each([
    ['[RL5]', '--enable-rl --rl-control-timeout-secs 0', 'rl.control_timeout_secs must be >= 1'],
    ['[RL5]', '--enable-rl --rl-fanout-concurrency 0', 'rl.fanout_concurrency must be >= 1'],
    ['[RL7]', '--rl-version-policy latest-only', 'rl.version_policy requires rl.enabled'],
    ['[RL9]', '--rl-version-policy freshest', '--rl-version-policy: freshest - expected any |'],
  ])('%s %s stops the start', (_, line, message) => {
    expect(launch(line)).toMatchObject({
      kind: 'error',
      exitCode: 2,
      text: expect.stringContaining(message),
    });
  });

  it('[RL5] [RL7] the same rules hold for a program that embeds the gateway', () => {
    expect(() => loadConfig({ rl: { enabled: true, fanoutConcurrency: 0 } })).toThrow(ConfigError);
    expect(() => loadConfig({ rl: { versionPolicy: 'latest-only' } })).toThrow(ConfigError);
    expect(() => loadConfig({ rl: { enabled: true, versionPolicy: 'latest' } })).toThrow('latest');
  });

  it('[RL6] [RL7] zeros are fine while off; a policy is fine while on', () => {
    const off = launch('--rl-control-timeout-secs 0 --rl-fanout-concurrency 0');
    const on = launch('--enable-rl --rl-version-policy max-staleness:1');
    expect([off.kind, on.kind]).toEqual(['run', 'run']);
  });

  it('[RL8] {"enabled": true} fills in the other defaults, and survives a round trip', () => {
    const read = launch('--config f', '{"rl": {"enabled": true}}');
    if (read.kind !== 'run') throw new Error(read.text);
    expect(read.config.rl).toEqual(loadConfig({ rl: { enabled: true } }).rl);
    const printed = launch('--config f --print-config', '{"rl": {"enabled": true}}');
    if (printed.kind !== 'print') throw new Error('nothing printed');
    const again = launch('--config f', printed.text);
    if (again.kind !== 'run') throw new Error(again.text);
    expect(again.config.rl).toEqual(read.config.rl);
  });
});

/** Every route of the control plane, R1 to R8. */
const ROUTES: readonly [method: string, path: string][] = [
  ['GET', '/workers'],
  ['GET', '/workers/x'],
  ['GET', '/workers/x/engine/health'],
  ['POST', '/workers/x/engine/flush_cache'],
  ['GET', '/engine/health?selector=a%3Db'],
  ['POST', '/engine/flush_cache?selector=a%3Db'],
  ['POST', '/workers/x/version'],
  ['POST', '/workers/x/state'],
  ['POST', '/version?selector=a%3Db'],
  ['POST', '/state?selector=a%3Db'],
];

describe('keys of the control plane', () => {
  let keyed: RlGateway;
  let tenants: RlGateway;
  beforeAll(async () => {
    keyed = await startRl({ auth: { apiKey: 'secret-key' } });
    tenants = await startRl({ auth: { tenantApiKeys: [{ tenantId: 't', key: 'tenant-key' }] } });
  });
  afterAll(async () => {
    await keyed.close();
    await tenants.close();
  });
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  it.each(ROUTES)('[RL11] %s %s wants the key', async (method, path) => {
    expect((await keyed.rl.ask(path, { method })).status).toBe(401);
    expect((await keyed.rl.ask(path, { method, headers: bearer('wrong') })).status).toBe(401);
    const right = await keyed.rl.ask(path, { method, headers: bearer('secret-key') });
    expect(right.status).not.toBe(401);
    expect(right.text).not.toContain('secret-key');
  });

  it.each(ROUTES)('[RL12] %s %s refuses tenant keys', async (method, path) => {
    expect((await tenants.rl.ask(path, { method, headers: bearer('tenant-key') })).status).toBe(
      401,
    );
  });

  it('[RL14] decision 19: a malformed policy is 400 before authentication, on existing routes', async () => {
    const bad = { [POLICY]: 'newest' };
    const paths = [
      '/v1/rl/workers',
      '/v1/rl/workers/x/version',
      '/workers',
      '/health',
      '/generate',
    ];
    for (const path of paths) {
      const method = /generate|version/.test(path) ? 'POST' : 'GET';
      const got = await send(keyed.url + path, { method, headers: bad });
      expect([path, got.status, got.json]).toEqual([
        path,
        400,
        {
          error: 'invalid_version_policy',
          message:
            'invalid version policy `newest`: expected any | latest-only | min-version:<v> | max-staleness:<k>',
        },
      ]);
      expect(got.headers['x-request-id']).toBeDefined();
    }
    expect((await send(`${keyed.url}/nothing`, { headers: bad })).status).toBe(404);
  });

  it('a wrong method is 405 with Allow and no body', async () => {
    for (const [path, allow] of [
      ['/workers', 'GET, HEAD'],
      ['/workers/x/engine/y', 'GET, HEAD, POST'],
      ['/engine/y', 'GET, HEAD, POST'],
      ['/workers/x/version', 'POST'],
      ['/workers/x/state', 'POST'],
      ['/version', 'POST'],
      ['/state', 'POST'],
    ]) {
      const got = await keyed.rl.ask(path ?? '', {
        method: 'DELETE',
        headers: bearer('secret-key'),
      });
      expect([path, got.status, got.headers.allow, got.text]).toEqual([path, 405, allow, '']);
    }
  });
});
