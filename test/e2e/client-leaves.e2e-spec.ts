import { MockEngine } from '@smg/testing';
import { connect } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send } from '../support/http';
import { until } from '../support/until';
import { chat, chatStream, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { rawPost } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
/** Milliseconds. The promise is 50; a shared machine gets some more. */
const PROMPT_MS = 500;

describeLanes('a client that leaves', ({ hotLane }) => {
  const engines = [new MockEngine(), new MockEngine()];
  let gateway: RunningGateway;
  beforeAll(async () => {
    for (const engine of engines) await engine.start();
    gateway = await startGateway(
      {
        requests: { hotLane },
        health: { checksDisabled: true },
        routing: { policy: 'round_robin' },
      },
      { engines },
    );
  });
  afterAll(async () => {
    await gateway.close();
    for (const engine of engines) await engine.stop();
  });
  afterEach(() => {
    for (const engine of engines) engine.behaveNormally();
  });

  const total = (of: (engine: MockEngine) => number) =>
    engines.reduce((sum, engine) => sum + of(engine), 0);
  const inFlight = () => total(({ counters }) => counters.inFlight);
  const received = (route: string) => total(({ counters }) => counters.of(route));

  /** Leaves once the engine has the request, or the head has come; returns ms until the engine knew. */
  async function leave(body: object, when: 'waiting' | 'streaming', route = CHAT): Promise<number> {
    const before = received(route);
    let depart: () => void;
    if (when === 'waiting') {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(rawPost(route, JSON.stringify(body)));
      depart = () => socket.destroy();
      await until('the engine has it', () => received(route) > before && inFlight() > 0);
    } else {
      const stream = await open(`${gateway.url}${route}`, { body });
      await new Promise((resolve) => stream.incoming.once('data', resolve));
      depart = () => {
        stream.leave();
      };
    }
    const leftAt = performance.now();
    depart();
    await until('the engine sees it', () => inFlight() === 0, 5_000);
    expect(received(route)).toBe(before + 1);
    return performance.now() - leftAt;
  }

  const behave = (behaviour: Parameters<MockEngine['behave']>[0]) => {
    for (const engine of engines) engine.behave(behaviour);
  };
  const idle = async () => {
    const page = await gateway.metrics();
    return (
      sample(page, 'smg_worker_requests_active') === 0 &&
      sample(page, 'smg_http_connections_active') === 0
    );
  };

  it.each<[string, object, string]>([
    ['buffered chat', chat(), CHAT],
    ['streamed chat', chatStream(), CHAT],
    ['buffered generate', generate(), '/generate'],
    ['embeddings', { model: 'mock-model', input: 'x' }, '/v1/embeddings'],
  ])(
    '[R16] [#82] [G77] before the head, %s: the engine is told promptly, load is zero, no retry',
    async (_title, body, route) => {
      behave({ route, delayMs: 20_000 });
      expect(await leave(body, 'waiting', route)).toBeLessThan(PROMPT_MS);
      await until('load is zero', idle);
    },
  );

  it('[G77] after the head and before the first byte: the engine is told promptly', async () => {
    behave({ route: CHAT, delayBodyMs: 20_000, chunks: ['data: {}\n\n'] });
    expect(await leave(chatStream(), 'waiting')).toBeLessThan(PROMPT_MS);
    await until('load is zero', idle);
  });

  it('[#82] [G77] in mid-stream: the engine is told promptly', async () => {
    behave({
      route: CHAT,
      chunks: ['data: {"a":1}\n\n', { data: 'data: {"a":2}\n\n', delayMs: 20_000 }],
    });
    expect(await leave(chatStream(), 'streaming')).toBeLessThan(PROMPT_MS);
    await until('load is zero', idle);
  });

  it('[R16] in the middle of a buffered body: the engine is told promptly', async () => {
    const chunks = ['{"a":', { data: '1}', delayMs: 20_000 }];
    behave({ route: CHAT, headers: { 'content-type': 'application/json' }, chunks });
    expect(await leave(chat(), 'waiting')).toBeLessThan(PROMPT_MS);
    await until('load is zero', idle);
  });

  it('[reliability] nothing is retried after the client left', async () => {
    const before = received(CHAT);
    behave({ route: CHAT, status: 503, delayMs: 40 });
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(rawPost(CHAT, JSON.stringify(chat())));
    await until('the engine has it', () => received(CHAT) === before + 1);
    socket.destroy();
    await until('load is zero', idle);
    // Longer than the first back-off.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(received(CHAT)).toBe(before + 1);
  });

  it('[reliability] a client that leaves between two attempts gets no further attempt', async () => {
    const before = received(CHAT);
    behave({ route: CHAT, status: 503 });
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(rawPost(CHAT, JSON.stringify(chat())));
    await until('the first attempt is over', () => received(CHAT) > before && inFlight() === 0);
    socket.destroy();
    await until('load is zero', idle);
    const seen = received(CHAT);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(received(CHAT)).toBeLessThanOrEqual(seen + 1);
    expect(seen - before).toBeLessThan(5);
  });

  it('[R16] 200 clients leave at random moments: every engine socket of theirs closes', async () => {
    for (const engine of engines) {
      engine.behave({
        route: CHAT,
        delayMs: 15,
        chunks: ['data: {}\n\n', { data: 'data: {}\n\n', delayMs: 5_000 }],
      });
    }
    const jobs = Array.from({ length: 200 }, async (_, at) => {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(rawPost(CHAT, JSON.stringify(at % 2 === 0 ? chat() : chatStream())));
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      socket.destroy();
    });
    await Promise.all(jobs);
    await until('no request is left at an engine', () => inFlight() === 0);
    await until('load is zero', idle);
    const after = await send(`${gateway.url}/readiness`);
    expect(after.status).toBe(200);
  });

  it('requests that wait behind another on the connection end with it, whatever their route', async () => {
    behave({ route: '/health_generate', delayMs: 5_000 });
    const active = async () => sample(await gateway.metrics(), 'smg_http_connections_active');
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    const paths = ['/health_generate', '/workers', '/readiness', '/nope', '/health_generate'];
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: g\r\n\r\n`).join(''));
    await until('all have begun', async () => (await active()) === paths.length);
    socket.destroy();
    await until('none is in flight', async () => (await active()) === 0);
  });

  it('[G76] the load is zero after success and after failure', async () => {
    await send(`${gateway.url}${CHAT}`, { body: chat() });
    await until('load is zero', idle);
    behave({ route: CHAT, status: 400 });
    await send(`${gateway.url}${CHAT}`, { body: chat() });
    await until('load is zero', idle);
  });

  it('[G64] the load of the worker is 1 while a request is parked there, and 0 after', async () => {
    behave({ route: CHAT, delayMs: 400 });
    const answer = send(`${gateway.url}${CHAT}`, { body: chat() });
    await until('one is in flight', async () => {
      return sample(await gateway.metrics(), 'smg_worker_requests_active') === 1;
    });
    expect((await answer).status).toBe(200);
    await until('load is zero', idle);
  });
});
