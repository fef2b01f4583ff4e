import { MockEngine } from '@smg/testing';
import { send, type Answer } from '../support/http';
import { chat, chatStream, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { sample } from './support/scrape';
import { generateAt, startRl, type RlGateway } from './support/rl';

describeLanes('stamps', ({ hotLane }) => {
  const engine = new MockEngine({ tokens: 3 });
  let gateway: RlGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startRl(
      { requests: { hotLane, timeoutSecs: 2 }, auth: {} },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  afterEach(() => {
    engine.behaveNormally();
  });
  const ask = (path: string, body: object): Promise<Answer> => send(gateway.url + path, { body });
  const meta = (info: unknown): object => ({ mock_meta_info: info });
  const mixedCount = async (): Promise<number> =>
    sample(await gateway.metrics(), 'smg_rl_mixed_version_total');

  it('[RL93] [RL102] no version header before a version is known, not even one of the engine', async () => {
    engine.behave({
      route: '/generate',
      headers: { 'x-smg-weight-version': '666', 'x-smg-mixed-version': 'true' },
    });
    const got = await generateAt(gateway);
    expect(got.headers['x-smg-routed-worker-id']).toBe(engine.url);
    expect(got.headers['x-smg-weight-version']).toBeUndefined();
    expect(got.headers['x-smg-mixed-version']).toBeUndefined();
  });

  it('[RL95] two spans are flagged while nobody has said a version', async () => {
    const got = await generateAt(
      gateway,
      {},
      meta({ weight_versions: [{ version: '41' }, { version: '42' }], weight_version: '42' }),
    );
    expect(got.headers['x-smg-mixed-version']).toBe('true');
    expect(got.headers['x-smg-weight-version']).toBeUndefined();
  });

  it('[RL93] buffered and streamed answers carry the version and the worker', async () => {
    await gateway.rl.setVersion(engine, '9');
    for (const [path, body] of [
      ['/generate', generate()],
      ['/generate', generate({ stream: true })],
      ['/v1/chat/completions', chat()],
      ['/v1/chat/completions', chatStream()],
    ] as const) {
      const got = await ask(path, body);
      expect(got.status).toBe(200);
      expect(got.headers).toMatchObject({
        'x-smg-routed-worker-id': engine.url,
        'x-smg-weight-version': '9',
      });
      expect(got.headers['x-smg-weight-version-start']).toBeUndefined();
    }
  });

  it.each([
    ['[RL94] two spans', { weight_versions: [{}, {}], weight_version: '42' }, true],
    ['[RL94] clean', { weight_versions: [{}], weight_version: '42' }, false],
    ['[RL94] drifted', { weight_version: '7' }, true],
    ['[RL95] the same number, spelled otherwise', { weight_version: '042' }, false],
    ['[RL95] a number', { weight_version: 42 }, false],
    ['[RL95] default beside a version', { weight_version: 'default' }, true],
    ['[RL95] spans that are no array', { weight_versions: 'x', weight_version: '7' }, false],
    ['[RL95] blank', { weight_version: ' ' }, false],
    ['[RL95] nothing', {}, false],
    ['[RL95] null', null, false],
  ])('%s: flagged is %p', async (_, info, flagged) => {
    await gateway.rl.setVersion(engine, '42');
    const before = await mixedCount();
    const got = await generateAt(gateway, {}, meta(info));
    expect(got.headers['x-smg-mixed-version']).toBe(flagged ? 'true' : undefined);
    expect((await mixedCount()) - before).toBe(flagged ? 1 : 0);
    expect(got.json['meta_info']).toEqual(info);
  });

  it('[RL95] an array is flagged for one of its items; text and broken JSON are not', async () => {
    await gateway.rl.setVersion(engine, '42');
    const clean = { meta_info: { weight_version: '42' } };
    const mixed = { meta_info: { weight_versions: [{}, {}], weight_version: '42' } };
    for (const [body, type, flagged] of [
      [JSON.stringify([clean, mixed]), 'application/json', true],
      [JSON.stringify([clean, clean]), 'application/json', false],
      [JSON.stringify(mixed), 'text/plain', false],
      [JSON.stringify(mixed).slice(0, -1), 'application/json', false],
      ['{"text":"no meta"}', 'application/json', false],
      ['', 'application/json', false],
    ] as const) {
      engine.behave({ route: '/generate', times: 1, body, headers: { 'content-type': type } });
      const got = await generateAt(gateway);
      expect([body, got.headers['x-smg-mixed-version']]).toEqual([
        body,
        flagged ? 'true' : undefined,
      ]);
      expect(got.text).toBe(body);
    }
  });

  it('[RL94] a stream is never flagged', async () => {
    const body = generate({ stream: true, ...meta({ weight_versions: [{}, {}] }) });
    expect((await ask('/generate', body)).headers['x-smg-mixed-version']).toBeUndefined();
  });

  it('[RL97] a chat body with two versions is not flagged', async () => {
    engine.behave({
      route: '/v1/chat/completions',
      body: { choices: [], meta_info: { weight_versions: [{}, {}] } },
    });
    const got = await ask('/v1/chat/completions', chat());
    expect(got.headers['x-smg-mixed-version']).toBeUndefined();
  });

  it('[RL96] decision 17: errors a worker caused carry both stamps, those of selection none', async () => {
    await gateway.rl.setVersion(engine, '42');
    const stamps = ({ headers }: Answer): unknown[] => [
      headers['x-smg-routed-worker-id'],
      headers['x-smg-weight-version'],
      headers['x-smg-mixed-version'],
    ];
    for (const behaviour of [
      { status: 400 },
      { status: 500 },
      { cut: { how: 'reset', at: 'request' } as const },
      { body: { a: 'x'.repeat(99) }, cut: { how: 'reset', at: 9 } as const },
      { rawHead: 'nonsense\r\n\r\n' },
    ]) {
      // A request that dies on a pooled connection before a byte of an answer is written once more.
      const undo = engine.behave({ route: '/generate', ...behaviour });
      const got = await generateAt(gateway);
      undo();
      expect([behaviour, got.status >= 400]).toEqual([behaviour, true]);
      expect(stamps(got)).toEqual([engine.url, '42', undefined]);
    }
    await gateway.rl.setControl(engine, 'paused');
    expect(stamps(await generateAt(gateway))).toEqual([undefined, undefined, undefined]);
    await gateway.rl.setControl(engine, 'active');
  });

  it('[RL96] decision 17: our own deadline carries them too', async () => {
    engine.behave({ route: '/generate', times: 1, delayMs: 5_000 });
    const got = await generateAt(gateway);
    expect([got.status, got.headers['x-smg-weight-version']]).toEqual([504, '42']);
  });

  describe('decision 18: the version changed while the engine worked', () => {
    const during = async (
      path: string,
      body: object,
      answer: object,
      change: () => Promise<unknown>,
    ): Promise<Answer> => {
      await gateway.rl.setVersion(engine, '41');
      engine.behave({ route: path, times: 1, delayMs: 250, ...answer });
      const before = engine.requestsTo(path).length;
      const asked = ask(path, body);
      await engine.waitUntil(() => engine.requestsTo(path).length > before);
      await change();
      return asked;
    };
    const flip = (): Promise<unknown> =>
      gateway.rl.call(engine, 'update_weight_version', {
        body: { new_version: '42', abort_all_requests: false },
      });

    it('a chat answer names both, and is flagged', async () => {
      const got = await during('/v1/chat/completions', chat(), { body: { choices: [] } }, flip);
      expect(got.headers).toMatchObject({
        'x-smg-weight-version': '42',
        'x-smg-weight-version-start': '41',
        'x-smg-mixed-version': 'true',
      });
    });

    it('an engine that says its own version is believed', async () => {
      const answer = { body: { meta_info: { weight_version: '42', weight_versions: [{}] } } };
      const got = await during('/generate', generate(), answer, flip);
      expect(got.headers).toMatchObject({
        'x-smg-weight-version': '42',
        'x-smg-weight-version-start': '41',
      });
      expect(got.headers['x-smg-mixed-version']).toBeUndefined();
    });

    it('a stream names both and is not flagged; an equal spelling is no change', async () => {
      const streamed = await during(
        '/v1/chat/completions',
        chatStream(),
        { chunks: ['data: [DONE]\n\n'] },
        flip,
      );
      expect(streamed.headers['x-smg-weight-version-start']).toBe('41');
      expect(streamed.headers['x-smg-mixed-version']).toBeUndefined();
      const same = await during('/v1/chat/completions', chat(), { body: {} }, () =>
        gateway.rl.setVersion(engine, '041'),
      );
      expect(same.headers['x-smg-weight-version']).toBe('041');
      expect(same.headers['x-smg-weight-version-start']).toBeUndefined();
      expect(same.headers['x-smg-mixed-version']).toBeUndefined();
    });

    it('[RL105] a change under running requests is counted', async () => {
      const count = async (): Promise<number> =>
        sample(await gateway.metrics(), 'smg_rl_version_change_with_inflight_total');
      const before = await count();
      await during('/v1/chat/completions', chat(), { body: {} }, flip);
      expect((await count()) - before).toBe(1);
    });
  });
});
