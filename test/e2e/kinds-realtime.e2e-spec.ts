import { MockEngine } from '@smg/testing';
import { connect } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat } from './support/bodies';
import { describeLanes } from './support/lanes';
import { sendRaw, statusesIn, statusOf } from './support/raw-client';
import { sample } from './support/scrape';
import { handshake, WebSocketClient } from './support/web-socket-client';

const PATH = '/v1/realtime';
const TOKEN = { authorization: 'Bearer client' };

interface Fleet {
  readonly voice: MockEngine;
  readonly second: MockEngine;
  readonly deaf: MockEngine;
  readonly gateway: RunningGateway;
  stop(): Promise<void>;
}

/** Two engines with the label, one of the same model without. */
async function startFleet(
  config: Parameters<typeof startGateway>[0],
  key?: string,
): Promise<Fleet> {
  const engines = [0, 1, 2].map(() => new MockEngine({ model: 'voice' }));
  for (const engine of engines) await engine.start();
  const gateway = await startGateway({ health: { checksDisabled: true }, ...config });
  for (const [at, engine] of engines.entries()) {
    await workersOf(gateway.url, key).added({
      url: engine.url,
      models: [{ id: 'voice', aliases: ['speech'] }],
      health: { drain_settle_secs: 0 },
      labels: at < 2 ? { realtime: 'true' } : { realtime: 'false' },
    });
  }
  const [voice, second, deaf] = engines as [MockEngine, MockEngine, MockEngine];
  return {
    voice,
    second,
    deaf,
    gateway,
    stop: async () => {
      await gateway.close();
      for (const engine of engines) await engine.stop();
    },
  };
}

const REST: [string, (model: string) => object, (body: Record<string, unknown>) => unknown][] = [
  [`${PATH}/sessions`, (model) => ({ model, n: 1 }), (body) => body['model']],
  [`${PATH}/transcription_sessions`, (model) => ({ model, n: 1 }), (body) => body['model']],
  [
    `${PATH}/client_secrets`,
    (model) => ({ model: 'decoy', session: { type: 'realtime', model }, n: 1 }),
    (body) => (body['session'] as { model: string }).model,
  ],
];

describeLanes('realtime REST', ({ hotLane }) => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet({ requests: { hotLane } });
  });
  afterEach(() => {
    for (const engine of [fleet.voice, fleet.second]) engine.behaveNormally();
  });
  afterAll(() => fleet.stop());

  const post = (path: string, body: unknown, headers: Record<string, string> = TOKEN) =>
    send(fleet.gateway.url + path, { body, headers });

  it.each(REST)('[G67] %s: the worker gets the canonical model', async (path, bodyOf, modelOf) => {
    const text = JSON.stringify(bodyOf('speech')).replace('"n":1', '"n":9007199254740993');
    const got = await post(path, text);
    expect(got.status).toBe(200);
    expect(got.json['model']).toBe('voice');
    const sent = [...fleet.voice.requestsTo(path), ...fleet.second.requestsTo(path)].at(-1);
    expect(modelOf(sent?.jsonObject() as never)).toBe('voice');
    expect(sent?.body.toString()).toBe(text.replace('"speech"', '"voice"'));
    expect(sent?.values('authorization')).toEqual(['Bearer client']);
    expect(fleet.deaf.requestsTo(path)).toEqual([]);
  });

  it('of an answer, Content-Type and body are relayed, and what the gateway says itself', async () => {
    const got = await post(`${PATH}/sessions`, { model: 'voice' });
    expect(got.headers['content-type']).toBe('application/json');
    expect(got.headers['x-engine-header']).toBeUndefined();
    expect(got.headers['set-cookie']).toBeUndefined();
    expect(got.headers['x-request-id']).toBeDefined();
    expect([fleet.voice.url, fleet.second.url]).toContain(got.headers['x-smg-routed-worker-id']);
  });

  it('the one with fewer requests in flight is asked', async () => {
    const path = `${PATH}/sessions`;
    fleet.voice.behave({ route: path, delayMs: 400 });
    fleet.second.behave({ route: path, delayMs: 400 });
    const before = [fleet.voice, fleet.second].map(({ counters }) => counters.of(path));
    await Promise.all([1, 2, 3, 4].map(() => post(path, { model: 'voice' })));
    expect(fleet.voice.counters.of(path) - (before[0] ?? 0)).toBe(2);
    expect(fleet.second.counters.of(path) - (before[1] ?? 0)).toBe(2);
  });

  it('without credentials of the client or the worker: 401 without a body', async () => {
    const got = await post(`${PATH}/sessions`, { model: 'voice' }, {});
    expect([got.status, got.text]).toEqual([401, '']);
  });

  it('a worker that cannot be reached: 502 without a body, asked once', async () => {
    const path = `${PATH}/sessions`;
    const cut = { how: 'reset', at: 'request' } as const;
    for (const engine of [fleet.voice, fleet.second]) engine.behave({ route: path, cut });
    const before = fleet.voice.counters.of(path) + fleet.second.counters.of(path);
    const got = await post(path, { model: 'voice' });
    expect([got.status, got.text]).toEqual([502, '']);
    expect(got.headers['x-smg-routed-worker-id']).toBeDefined();
    expect(fleet.voice.counters.of(path) + fleet.second.counters.of(path)).toBe(before + 1);
  });

  it("a worker's refusal is relayed, and not tried elsewhere", async () => {
    const path = `${PATH}/sessions`;
    for (const engine of [fleet.voice, fleet.second])
      engine.behave({ route: path, status: 503, body: {} });
    const before = fleet.voice.counters.of(path) + fleet.second.counters.of(path);
    expect((await post(path, { model: 'voice' })).status).toBe(503);
    expect(fleet.voice.counters.of(path) + fleet.second.counters.of(path)).toBe(before + 1);
  });

  it.each([
    [`${PATH}/sessions`, {}, '`model`'],
    [`${PATH}/client_secrets`, { model: 'voice' }, '`session.model`'],
    [`${PATH}/client_secrets`, { session: { model: 7 } }, '`session.model`'],
  ])('%s %j: 400 that names the field', async (path, body, field) => {
    const got = await post(path, body);
    expect([got.status, got.json['error'].code]).toEqual([400, 'json_parse_error']);
    expect(got.json['error'].message).toContain(field);
  });

  it('an unknown model is 404; GET of the socket without an upgrade is 426', async () => {
    expect((await post(`${PATH}/sessions`, { model: 'nobody' })).status).toBe(404);
    const got = await send(`${fleet.gateway.url}${PATH}?model=voice`, { method: 'GET' });
    expect([got.status, got.headers['x-smg-error-code']]).toEqual([426, 'upgrade_required']);
    expect((await send(`${fleet.gateway.url}${PATH}`, { body: {} })).status).toBe(405);
  });
});

describeLanes('realtime sockets', ({ hotLane }) => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet({ requests: { hotLane, realtimeIdleTimeoutSecs: 600 } });
  });
  afterEach(async () => {
    for (const engine of [fleet.voice, fleet.second]) {
      engine.behaveNormally();
      engine.falseAccept = undefined;
    }
    await until('nothing is in flight', async () => {
      const page = await fleet.gateway.metrics();
      const idle = sample(page, 'smg_worker_requests_active') === 0;
      return idle && fleet.voice.counters.inFlight + fleet.second.counters.inFlight === 0;
    });
  });
  afterAll(() => fleet.stop());

  const client = (
    query = '?model=voice',
    headers: Record<string, string> = TOKEN,
    protocols?: string[],
  ) =>
    new WebSocketClient(`${fleet.gateway.url}${PATH}${query}`, {
      headers,
      ...(protocols === undefined ? {} : { protocols }),
    });
  const sessions = () => [...fleet.voice.webSockets, ...fleet.second.webSockets];
  const newest = () => sessions().reduce((a, b) => (a.request.at > b.request.at ? a : b));
  const opened = async (...args: Parameters<typeof client>) => {
    const made = client(...args);
    await until('the socket is open', () => made.isOpen || made.closed !== undefined);
    expect(made.isOpen).toBe(true);
    return { client: made, engine: newest() };
  };
  const raw = (text: string, untilText?: string) =>
    sendRaw(fleet.gateway.port, text, untilText === undefined ? {} : { untilText });

  it('messages both ways, in order, small and large; the close code goes over', async () => {
    const { client: it, engine } = await opened();
    const sent = ['a', 'é'.repeat(100), 'x'.repeat(70_000), ''];
    for (const text of sent) it.socket.send(text);
    await until('all are back', () => it.messages.length === sent.length);
    expect(it.messages).toEqual(sent);
    expect(engine.texts).toEqual(sent);
    expect(engine.frames.every(({ isMasked }) => isMasked)).toBe(true);
    engine.send('of my own accord');
    await until('it is there', () => it.messages.length === sent.length + 1);
    it.socket.close(4321, 'enough');
    await until('closed', () => it.closed !== undefined && engine.isOver);
    expect(it.closed).toEqual({ code: 4321, reason: 'enough', wasClean: true });
    expect(engine.closeCode).toBe(4321);
  });

  it("the engine's close code and ping go over", async () => {
    const { client: it, engine } = await opened();
    engine.ping('are you there');
    await until('the pong is back', () =>
      engine.frames.some(
        ({ opcode, payload }) => opcode === 10 && payload.toString() === 'are you there',
      ),
    );
    engine.close(1011, 'out of memory');
    await until('closed', () => it.closed !== undefined);
    expect(it.closed).toEqual({ code: 1011, reason: 'out of memory', wasClean: true });
  });

  it('[G67] the worker gets the canonical model, the other parameters as they were', async () => {
    const { client: it, engine } = await opened('?intent=a%20b&model=speech&x=%2F');
    expect(engine.request.path).toBe(`${PATH}?intent=a%20b&model=voice&x=%2F`);
    expect(engine.request.values('authorization')).toEqual(['Bearer client']);
    expect(engine.request.values('upgrade')).toEqual(['websocket']);
    it.socket.close();
    const same = await opened('?model=%76oice');
    expect(same.engine.request.path).toBe(`${PATH}?model=%76oice`);
    same.client.socket.close();
  });

  it('counts as load while it is open, and the less busy worker gets the next', async () => {
    const before = [fleet.voice.webSockets.length, fleet.second.webSockets.length];
    const all = [];
    for (let at = 0; at < 4; at += 1) all.push(await opened());
    expect(fleet.voice.webSockets.length - (before[0] ?? 0)).toBe(2);
    expect(fleet.second.webSockets.length - (before[1] ?? 0)).toBe(2);
    expect(sample(await fleet.gateway.metrics(), 'smg_worker_requests_active')).toBe(4);
    expect(fleet.deaf.webSockets).toHaveLength(0);
    for (const { client: it } of all) it.socket.close();
  });

  it('the 101 is stamped, and says nothing else of the engine', async () => {
    const got = await raw(handshake(`${PATH}?model=voice`, 'Authorization: Bearer c'), '\r\n\r\n');
    expect(statusOf(got.text)).toBe(101);
    expect(got.text.toLowerCase()).toContain('sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=');
    expect(got.text).toMatch(/x-smg-routed-worker-id: http:\/\/127/);
    expect(got.text).not.toMatch(/forged|set-cookie/i);
    expect(got.text).toMatch(/x-request-id: /);
  });

  it('a subprotocol is agreed on between client and engine', async () => {
    const { client: it, engine } = await opened('?model=voice', TOKEN, ['realtime', 'other']);
    expect(it.socket.protocol).toBe('realtime');
    expect(engine.request.header('sec-websocket-protocol')).toBe('realtime, other');
    it.socket.close();
  });

  it.each([
    ['no model', handshake(PATH, 'Authorization: Bearer c'), 400, 'model'],
    [
      'two models',
      handshake(`${PATH}?model=voice&model=a`, 'Authorization: Bearer c'),
      400,
      'model',
    ],
    [
      'an unknown model',
      handshake(`${PATH}?model=nobody`, 'Authorization: Bearer c'),
      404,
      'model_not_found',
    ],
    ['no credentials', handshake(`${PATH}?model=voice`), 401, ''],
    ['a body', handshake(`${PATH}?model=voice`, 'Content-Length: 4').concat('abcd'), 400, 'body'],
    [
      'a chunked body',
      handshake(`${PATH}?model=voice`, 'Transfer-Encoding: chunked').concat('0\r\n\r\n'),
      400,
      'body',
    ],
    ['a bad key', handshake(`${PATH}?model=voice`).replace('dGhl', 'dGh'), 400, 'Key'],
    ['an old version', handshake(`${PATH}?model=voice`).replace(': 13', ': 8'), 426, 'ersion'],
    [
      'two protocols to upgrade to',
      handshake(`${PATH}?model=voice`).replace(': websocket', ': websocket, h2c'),
      400,
      'Upgrade',
    ],
  ])(
    '%s: refused before any worker, and the connection closes',
    async (_title, text, status, part) => {
      const before =
        sessions().length + fleet.voice.counters.received + fleet.second.counters.received;
      const got = await raw(text);
      expect([statusOf(got.text), got.end]).toEqual([status, 'fin']);
      expect(got.text).toContain(part);
      expect(statusesIn(got.text)).toHaveLength(1);
      expect(
        sessions().length + fleet.voice.counters.received + fleet.second.counters.received,
      ).toBe(before);
    },
  );

  it('an engine that refuses is relayed: status, type, body, stamp', async () => {
    for (const engine of [fleet.voice, fleet.second]) {
      engine.behave({ route: PATH, status: 429, body: { slow: 'down' } });
    }
    const got = await raw(handshake(`${PATH}?model=voice`, 'Authorization: Bearer c'));
    expect(statusOf(got.text)).toBe(429);
    expect(got.text).toContain('{"slow":"down"}');
    expect(got.text).toMatch(/x-smg-routed-worker-id: /);
    expect(got.end).toBe('fin');
  });

  it.each<[string, (engine: MockEngine) => void, number]>([
    [
      'that is cut',
      (it) => it.behave({ route: PATH, cut: { how: 'reset', at: 'request-head' } }),
      502,
    ],
    [
      'that has not read the key',
      (it) => void (it.falseAccept = 'AAAAAAAAAAAAAAAAAAAAAAAAAAA='),
      502,
    ],
  ])('a handshake %s is an error, never a tunnel', async (_title, spoil, status) => {
    for (const engine of [fleet.voice, fleet.second]) spoil(engine);
    const got = await raw(handshake(`${PATH}?model=voice`, 'Authorization: Bearer c'));
    expect(statusOf(got.text)).toBe(status);
    expect(got.text).not.toContain('101');
  });

  it('the client leaves during the handshake, and in mid-session: the engine is told', async () => {
    for (const engine of [fleet.voice, fleet.second])
      engine.behave({ route: PATH, delayMs: 20_000 });
    const socket = connect(fleet.gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(handshake(`${PATH}?model=voice`, 'Authorization: Bearer c'));
    await until(
      'an engine has it',
      () => fleet.voice.counters.inFlight + fleet.second.counters.inFlight === 1,
    );
    socket.destroy();
    await until(
      'it knows',
      () => fleet.voice.counters.inFlight + fleet.second.counters.inFlight === 0,
      2_000,
    );
    for (const engine of [fleet.voice, fleet.second]) engine.behaveNormally();
    const second = connect(fleet.gateway.port, '127.0.0.1');
    second.on('error', () => undefined);
    second.write(handshake(`${PATH}?model=voice`, 'Authorization: Bearer c'));
    await new Promise((resolve) => second.once('data', resolve));
    const engine = newest();
    second.destroy();
    await until('it knows', () => engine.isOver, 2_000);
  });

  it('an engine that dies: the client sees a break, not an end', async () => {
    const { client: it, engine } = await opened();
    engine.socket.destroy();
    await until('closed', () => it.closed !== undefined);
    expect(it.closed).toMatchObject({ code: 1006, wasClean: false });
  });

  it('a reader that stops holds its sender up, and loses nothing', async () => {
    const socket = connect(fleet.gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(handshake(`${PATH}?model=voice`, 'Authorization: Bearer c'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    const engine = newest();
    const piece = 'y'.repeat(60_000);
    let sent = 0;
    while (sent < 500 && !engine.socket.writableNeedDrain) {
      engine.send(piece);
      sent += 1;
      await new Promise(setImmediate);
    }
    expect(sent).toBeLessThan(500);
    let bytes = 0;
    socket.on('data', (data) => (bytes += data.length));
    socket.resume();
    await until('all is there', () => bytes === sent * (60_000 + 4));
    socket.destroy();
  });

  it('an offer of another protocol is overlooked, with its body, as ever', async () => {
    const body = JSON.stringify(chat({ model: 'voice' }));
    const text = `POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const got = await sendRaw(fleet.gateway.port, text, { untilText: '"choices"' });
    expect(statusOf(got.text)).toBe(200);
  });

  it('a handshake behind a request that is not answered yet does not overtake it', async () => {
    for (const engine of [fleet.voice, fleet.second, fleet.deaf]) {
      engine.behave({ route: '/v1/chat/completions', delayMs: 200, body: { choices: [] } });
    }
    const body = JSON.stringify(chat({ model: 'voice' }));
    const text = `POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}${handshake(`${PATH}?model=voice`, 'Authorization: Bearer c')}`;
    const got = await sendRaw(fleet.gateway.port, text, { untilText: 'upgrade_required' });
    expect(statusesIn(got.text)).toEqual([200, 426]);
    fleet.deaf.behaveNormally();
  });
});

describe('realtime sockets, keys and ends', () => {
  it('keys: a header or a subprotocol opens, and neither reaches an engine', async () => {
    const fleet = await startFleet({ auth: { apiKey: 'sesame' } }, 'sesame');
    try {
      const url = `${fleet.gateway.url}${PATH}?model=voice`;
      const refused = new WebSocketClient(url, { headers: { authorization: 'Bearer other' } });
      await until('refused', () => refused.hasFailed);
      const got = await sendRaw(fleet.gateway.port, handshake(`${PATH}?model=voice`));
      expect(statusOf(got.text)).toBe(401);
      const byHeader = new WebSocketClient(url, { headers: { authorization: 'Bearer sesame' } });
      await until('open', () => byHeader.isOpen);
      const byProtocol = new WebSocketClient(url, {
        protocols: ['realtime', 'openai-insecure-api-key.sesame'],
      });
      await until('open', () => byProtocol.isOpen);
      for (const engine of [fleet.voice, fleet.second]) {
        for (const { request } of engine.webSockets) {
          expect(request.headers.join('\n')).not.toContain('sesame');
        }
      }
      expect(fleet.gateway.rawLogs.join('\n')).not.toContain('sesame');
      byHeader.socket.close();
      byProtocol.socket.close();
    } finally {
      await fleet.stop();
    }
  });

  it('pages of other origins than those on the list are refused', async () => {
    const fleet = await startFleet({ listener: { corsAllowedOrigins: ['https://ours.example'] } });
    try {
      const ask = (origin: string) =>
        sendRaw(
          fleet.gateway.port,
          handshake(`${PATH}?model=voice`, 'Authorization: Bearer c', `Origin: ${origin}`),
          { untilText: '\r\n\r\n' },
        );
      expect(statusOf((await ask('https://theirs.example')).text)).toBe(403);
      expect(statusOf((await ask('https://ours.example')).text)).toBe(101);
    } finally {
      await fleet.stop();
    }
  });

  it('a sleeping engine gets no session: neither by REST nor by socket', async () => {
    const fleet = await startFleet({ rl: { enabled: true } });
    try {
      const { workers } = await workersOf(fleet.gateway.url).list();
      for (const { id } of workers) {
        const path = `/v1/rl/workers/${id}/engine/release_memory_occupation`;
        expect((await send(fleet.gateway.url + path, { body: {} })).status).toBe(200);
      }
      const got = await sendRaw(
        fleet.gateway.port,
        handshake(`${PATH}?model=voice`, 'Authorization: Bearer c'),
      );
      expect(statusOf(got.text)).toBe(503);
      expect(got.text).toContain('no_available_workers');
      for (const [path, bodyOf] of REST) {
        const body = bodyOf('voice');
        const answer = await send(fleet.gateway.url + path, { body, headers: TOKEN });
        expect([path, answer.status]).toEqual([path, 503]);
        expect(fleet.voice.requestsTo(path)).toEqual([]);
      }
      expect(fleet.voice.requestsTo(PATH)).toEqual([]);
    } finally {
      await fleet.stop();
    }
  });

  it('a handshake that fails gives its permit back, however it fails', async () => {
    const fleet = await startFleet({ admission: { maxConcurrentRequests: 1, queueSize: 0 } });
    try {
      const { port, url } = fleet.gateway;
      const fails = async (status: number, target: string, ...lines: string[]): Promise<void> => {
        const got = await sendRaw(port, handshake(PATH + target, ...lines));
        expect(statusOf(got.text)).toBe(status);
      };
      const token = 'Authorization: Bearer c';
      await fails(404, '?model=nobody', token);
      await fails(400, '', token);
      await fails(401, '?model=voice');
      for (const engine of [fleet.voice, fleet.second]) {
        engine.behave({ route: PATH, cut: { how: 'reset', at: 'request-head' } });
      }
      await fails(502, '?model=voice', token);
      const page = await fleet.gateway.metrics();
      expect(sample(page, 'smg_admission_inflight')).toBe(0);
      const body = { ...chat(), model: 'voice' };
      expect((await send(`${url}/v1/chat/completions`, { body })).status).toBe(200);
    } finally {
      await fleet.stop();
    }
  });

  it('nothing moves for the idle time: both sides are told 1001', async () => {
    const fleet = await startFleet({ requests: { realtimeIdleTimeoutSecs: 1 } });
    try {
      const it = new WebSocketClient(`${fleet.gateway.url}${PATH}?model=voice`, { headers: TOKEN });
      await until('open', () => it.isOpen);
      await until('closed', () => it.closed !== undefined);
      expect(it.closed?.code).toBe(1001);
      const engine = [...fleet.voice.webSockets, ...fleet.second.webSockets][0];
      await until('the engine too', () => engine?.isOver === true);
      expect(engine?.closeCode).toBe(1001);
    } finally {
      await fleet.stop();
    }
  });

  it('a shutdown closes with 1001, and does not wait for the grace period', async () => {
    const fleet = await startFleet({ requests: { shutdownGracePeriodSecs: 8 } });
    try {
      const it = new WebSocketClient(`${fleet.gateway.url}${PATH}?model=voice`, { headers: TOKEN });
      await until('open', () => it.isOpen);
      const startedAt = performance.now();
      await fleet.gateway.gateway.shutdown();
      expect(performance.now() - startedAt).toBeLessThan(7_000);
      await until('closed', () => it.closed !== undefined);
      expect(it.closed?.code).toBe(1001);
    } finally {
      await fleet.stop();
    }
  });
});
