import { MockEngine } from '@smg/testing';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { sendRaw } from './support/raw-client';
import { generateAt, serversOf, startRl, type RlGateway } from './support/rl';

const POLICY = 'x-smg-version-policy';
const CONTROL: Readonly<Record<string, string>> = { A: 'active', P: 'paused', Z: 'asleep' };

/** Fleet as `name:version/state`, `-` for no version; policy; who serves; why the others do not. */
const FLEETS: readonly (readonly [string, string, string, string?])[] = [
  ['a:-/A b:-/A', 'latest-only', 'a b'],
  ['a:-/A b:-/A', 'max-staleness:0', 'a b'],
  ['a:-/A b:-/A', 'min-version:1', '', '2 unversioned'],
  ['a:1/A b:-/A', 'latest-only', 'a'],
  ['a:1/A b:2/A', 'latest-only', 'b'],
  ['a:2/A b:2/A', 'latest-only', 'a b'],
  ['a:042/A b:42/A', 'latest-only', 'a b'],
  ['a:2/P b:2/A c:2/Z', 'any', 'b'],
  ['a:2/P b:2/A c:2/Z', 'latest-only', 'b'],
  ['a:2/P b:2/P', 'any', '', '2 paused'],
  ['a:3/P b:2/A', 'latest-only', '', '1 paused, 1 stale (latest 3)'],
  ['a:3/P b:2/A', 'max-staleness:1', 'b'],
  ['a:3/Z b:1/A', 'max-staleness:1', '', '1 asleep, 1 stale (latest 3)'],
  ['a:10/A b:9/A c:7/A d:-/A', 'max-staleness:1', 'a b'],
  ['a:10/A b:9/A c:7/A d:-/A', 'max-staleness:3', 'a b c'],
  ['a:10/A b:9/A c:7/A d:-/A', 'min-version:9', 'a b'],
  ['a:10/A b:9/A c:7/A d:-/A', 'min-version:7', 'a b c'],
  ['a:10/A b:9/A c:7/A d:-/A', 'any', 'a b c d'],
  ['a:10/A b:9/A c:ckpt-7/A', 'max-staleness:100', 'a b'],
  ['a:10/A b:9/A c:ckpt-7/A', 'latest-only', 'a'],
  ['a:10/A b:9/A c:ckpt-7/A', 'min-version:9', 'a b c'],
  ['a:ckpt-1/A b:ckpt-2/A', 'latest-only', 'b'],
  ['a:step-9/A b:step-10/A', 'latest-only', 'a'],
  ['a:ckpt-1/A b:ckpt-2/A', 'max-staleness:5', '', '2 stale (latest ckpt-2, which is no number)'],
  ['a:ckpt-1/A b:ckpt-2/A c:-/A', 'min-version:ckpt-2', 'b'],
  ['a:100/A b:9/A', 'min-version:50', 'a'],
  ['a:7/A b:7/A', 'min-version:8', '', '2 stale (minimum 8)'],
  ['a:5/A b:7/A', 'max-staleness:0', 'b'],
  ['a:100/A b:99/A', 'min-version:1a', 'b'],
];

describe('version policies', () => {
  let gateway: RlGateway;
  let engines: ReadonlyMap<string, MockEngine>;
  beforeAll(async () => {
    gateway = await startRl({ health: { drainSettleSecs: 0 } });
  });
  afterAll(() => gateway.close());
  afterEach(async () => {
    const workers = workersOf(gateway.url);
    for (const { id } of (await workers.list()).workers) await workers.remove(id);
    await until('all are gone', async () => (await workers.list()).total === 0);
    await Promise.all([...engines.values()].map((engine) => engine.stop()));
  });

  /** Engines that report their version at registration, then are put into their state. */
  const fleetOf = async (text: string, models: Record<string, string> = {}): Promise<void> => {
    const started = new Map<string, MockEngine>();
    engines = started;
    for (const part of text.split(' ')) {
      const [, name = '', version = '', state = ''] = /^(\w):(.+)\/(\w)$/.exec(part) ?? [];
      const engine = new MockEngine({
        tokens: 1,
        weightVersion: version === '-' ? 'default' : version,
        model: models[name] ?? 'm',
      });
      started.set(name, await engine.start());
      await workersOf(gateway.url).added({ url: engine.url });
      expect((await gateway.rl.row(engine))['weight_version']).toBe(
        version === '-' ? null : version,
      );
      if (state !== 'A') await gateway.rl.setControl(engine, CONTROL[state]);
    }
  };
  const namesOf = async (policy: string): Promise<string> => {
    const { workers } = await serversOf(gateway, engines.size * 2, { [POLICY]: policy });
    return [...engines]
      .flatMap(([name, { url }]) => (workers.includes(url) ? [name] : []))
      .join(' ');
  };

  const rows = FLEETS.map(([fleet, policy, serving, why = '']) => [fleet, policy, serving, why]);
  it.each(rows as [string, string, string, string][])(
    '[RL65] [RL66] %s under %s: %p',
    async (fleet, policy, serving, why) => {
      await fleetOf(fleet);
      expect(await namesOf(policy)).toBe(serving);
      if (serving !== '') return;
      const got = await generateAt(gateway, { [POLICY]: policy });
      expect([got.status, got.headers['x-smg-error-code']]).toEqual([503, 'no_available_workers']);
      expect(got.json['error'].message).toBe(`no worker is eligible for model 'unknown': ${why}`);
    },
  );

  it('[RL66] the latest version is one per model', async () => {
    await fleetOf('a:5/A b:1/A', { b: 'n' });
    expect(await namesOf('latest-only')).toBe('a b');
  });

  it('[RL66] the latest version falls when its engine is removed', async () => {
    await fleetOf('a:3/A b:2/A');
    expect(await namesOf('latest-only')).toBe('a');
    const workers = workersOf(gateway.url);
    await workers.remove((await workers.byUrl(engines.get('a')?.url ?? '')).id);
    await until('it is gone', async () => (await workers.list()).total === 1);
    expect(await namesOf('latest-only')).toBe('b');
  });

  it('[RL64] what a header may say: the first value, trimmed, in visible ASCII', async () => {
    await fleetOf('a:2/A b:1/A');
    const ask = async (...lines: string[]): Promise<string> => {
      const body = '{"text":"x"}';
      const head = ['POST /generate HTTP/1.1', 'Host: g', 'Content-Type: application/json'];
      const framing = [`Content-Length: ${body.length}`, 'Connection: close', '', body];
      return (await sendRaw(gateway.port, [...head, ...lines, ...framing].join('\r\n'))).text;
    };
    const a = engines.get('a')?.url ?? '';
    for (let i = 0; i < 4; i += 1) {
      expect(await ask(`${POLICY}: \t latest-only \t`)).toContain(
        `x-smg-routed-worker-id: ${a}\r\n`,
      );
      expect(await ask(`${POLICY}: latest-only`, `${POLICY}: any`)).toContain(a);
    }
    for (const bad of ['\xff', 'latest-only\xff', '\xc3\xa9']) {
      const got = await ask(`${POLICY}: ${bad}`);
      expect(got).toMatch(/^HTTP\/1\.1 400 /);
      expect(got).toContain('"error":"invalid_version_policy"');
      expect(got).toContain('header value is not UTF-8');
    }
  });

  it.each([
    ['Any', 'expected any | latest-only | min-version:<v> | max-staleness:<k>'],
    ['', 'expected any | latest-only | min-version:<v> | max-staleness:<k>'],
    ['min-version:', 'min-version needs a version with no whitespace'],
    ['min-version:a b', 'min-version needs a version with no whitespace'],
    ['max-staleness:1.5', 'max-staleness needs a decimal integer'],
    ['max-staleness:-1', 'max-staleness needs a decimal integer'],
    ['max-staleness:18446744073709551616', 'max-staleness needs a decimal integer'],
  ])('[RL63] %j is refused with its reason, and reaches no engine', async (text, reason) => {
    await fleetOf('a:2/A');
    const got = await generateAt(gateway, { [POLICY]: text });
    expect([got.status, got.json]).toEqual([
      400,
      {
        error: 'invalid_version_policy',
        message: `invalid version policy \`${text}\`: ${reason}`,
      },
    ]);
    expect(engines.get('a')?.requestsTo('/generate')).toEqual([]);
  });

  it('[RL67] an engine that nobody spoke of serves under any', async () => {
    await fleetOf('a:-/A');
    expect(await namesOf('any')).toBe('a');
  });

  it('[RL68] writers that race leave the latest version at the true one', async () => {
    await fleetOf('a:1/A b:1/A');
    const [a, b] = [...engines.values()] as [MockEngine, MockEngine];
    await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        gateway.rl.setVersion(at % 2 === 0 ? a : b, String(100 - at)),
      ),
    );
    const rows = await gateway.rl.rows();
    const best = Math.max(...rows.map((row) => Number(row['weight_version'])));
    const expected = [...engines].flatMap(([name, { url }]) =>
      rows.some((row) => row['base_url'] === url && Number(row['weight_version']) === best)
        ? [name]
        : [],
    );
    expect(await namesOf('latest-only')).toBe(expected.join(' '));
  });
});
