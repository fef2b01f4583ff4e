import { MockEngine } from '@smg/testing';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { heldBytes } from './support/memory';
import { sendRaw, statusOf } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
const MIB = 1024 * 1024;
const large = (bytes = 16 * 1024): object => chat({ padding: 'x'.repeat(bytes) });
const head = (length: number, path = CHAT): string =>
  `POST ${path} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

describeLanes('large bodies', ({ hotLane }) => {
  let engine: MockEngine;
  let gateway: RunningGateway;
  const requests = {
    hotLane,
    streamRequestBodiesOver: 1024,
    streamBodyStallTimeoutSecs: 1,
    maxPayloadSize: 4 * MIB,
  };
  beforeAll(async () => {
    engine = await new MockEngine().start();
    gateway = await startGateway(
      {
        requests,
        routing: { policy: 'least_load' },
        health: { checksDisabled: true },
        breaker: { failureThreshold: 1 },
      },
      { engines: [engine] },
    );
  });
  afterEach(async () => {
    engine.behaveNormally();
    await until('load is zero', async () => {
      const page = await gateway.metrics();
      return sample(page, 'smg_worker_requests_active') === 0;
    });
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  const framing = (path: string) => {
    const sent = engine.requestsTo(path).at(-1);
    return [sent?.values('transfer-encoding'), sent?.values('content-length')];
  };

  it.each<[string, object]>([
    [CHAT, large()],
    ['/generate', generate({ padding: 'x'.repeat(16_384) })],
  ])('[G78] %s: the worker gets identical bytes, chunked', async (path, body) => {
    const text = `{ "seed": 9007199254740993,${JSON.stringify(body).slice(1)}`;
    const got = await send(gateway.url + path, { body: text });
    expect(got.status).toBe(200);
    expect(got.headers['x-smg-routed-worker-id']).toBe(engine.url);
    expect(engine.requestsTo(path).at(-1)?.body.toString()).toBe(text);
    expect(framing(path)).toEqual([['chunked'], []]);
  });

  it('a stream comes back as one', async () => {
    const got = await send(gateway.url + CHAT, { body: { ...large(), stream: true } });
    expect(got.headers['content-type']).toContain('text/event-stream');
    expect(got.text.trim().endsWith('data: [DONE]')).toBe(true);
  });

  it('[G79] a small body, or one of unknown length, is held', async () => {
    const small = JSON.stringify(chat());
    expect((await send(gateway.url + CHAT, { body: small })).status).toBe(200);
    expect(framing(CHAT)).toEqual([[], [String(small.length)]]);
    const text = JSON.stringify(large());
    const raw = `POST ${CHAT} HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    expect(statusOf((await sendRaw(gateway.port, raw)).text)).toBe(200);
    expect(framing(CHAT)).toEqual([[], [String(text.length)]]);
  });

  it('nothing in it is looked at: the worker says what it thinks of it', async () => {
    engine.behave({ route: CHAT, status: 422, body: { no: 'JSON' } });
    const got = await send(gateway.url + CHAT, { body: '{'.repeat(2000) });
    expect([got.status, got.json]).toEqual([422, { no: 'JSON' }]);
  });

  it('a route that is not among them is held, and checked', async () => {
    const got = await send(`${gateway.url}/v1/responses`, { body: '{'.repeat(2000) });
    expect(got.status).toBe(400);
  });

  it('[G80] a body that says it is over the limit is 413, and reaches nobody', async () => {
    const before = engine.counters.received;
    const got = await sendRaw(gateway.port, head(5 * MIB));
    expect(statusOf(got.text)).toBe(413);
    expect(got.text).toContain('request_body_too_large');
    expect(engine.counters.received).toBe(before);
  });

  it('[G81] an upload that stalls is 408, one that is broken off reaches nobody whole; the breaker stays closed', async () => {
    const text = JSON.stringify(large());
    const stalled = await sendRaw(gateway.port, head(text.length) + text.slice(0, 5_000), {
      timeoutMs: 8_000,
      untilText: 'request_body_stalled',
    });
    expect(statusOf(stalled.text)).toBe(408);
    await until('the worker knows', () => engine.counters.inFlight === 0);
    const before = engine.counters.of(CHAT);
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(head(text.length) + text.slice(0, 5_000));
    await until('the worker has begun', () => engine.counters.of(CHAT) === before + 1);
    socket.destroy();
    await until('the worker knows', () => engine.counters.inFlight === 0, 2_000);
    expect(engine.requestsTo(CHAT).at(-1)?.complete).toBe(false);
    await until('it is in the log', () =>
      gateway.logs.some((line) => line['error_code'] === 'request_body_aborted'),
    );
    // One failure would have opened it.
    expect((await send(gateway.url + CHAT, { body: chat() })).status).toBe(200);
  });

  it('a worker that fails is not tried again', async () => {
    const before = engine.counters.of(CHAT);
    engine.behave({ route: CHAT, status: 503 });
    expect((await send(gateway.url + CHAT, { body: large() })).status).toBe(503);
    expect(engine.counters.of(CHAT)).toBe(before + 1);
  });
});

describe('large bodies, whether they pass', () => {
  it.each<[string, object, string | undefined, boolean]>([
    ['round_robin', {}, undefined, true],
    ['cache_aware', { policy: 'cache_aware' }, undefined, false],
    ['prefix_hash', { policy: 'prefix_hash' }, undefined, false],
    [
      'cache_aware with token ids in a header',
      { policy: 'cache_aware' },
      'x-smg-routing-tokens: 1,2',
      true,
    ],
    [
      'cache_aware with token ids that are none',
      { policy: 'cache_aware' },
      'x-smg-routing-tokens: 1,b',
      false,
    ],
    ['sticky keys without a key', { routingKeyOverride: true }, undefined, false],
    ['sticky keys with one', { routingKeyOverride: true }, 'x-smg-routing-key: k', true],
  ])('%s', async (_title, routing, header, passes) => {
    const engine = await new MockEngine().start();
    const gateway = await startGateway(
      {
        routing: { policy: 'round_robin', ...routing },
        requests: { streamRequestBodiesOver: 1024 },
      },
      { engines: [engine] },
    );
    try {
      const [name = 'x-none', value = ''] = (header ?? '').split(': ');
      const got = await send(gateway.url + CHAT, {
        body: large(),
        headers: header === undefined ? {} : { [name]: value },
      });
      expect(got.status).toBe(200);
      const sent = engine.requestsTo(CHAT).at(-1);
      expect(sent?.values('transfer-encoding')).toEqual(passes ? ['chunked'] : []);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });

  it('a fleet of two models: the body is read, and each gets its own', async () => {
    const engines = [new MockEngine({ model: 'a' }), new MockEngine({ model: 'b' })];
    for (const engine of engines) await engine.start();
    const gateway = await startGateway(
      { requests: { streamRequestBodiesOver: 1024 }, routing: { policy: 'round_robin' } },
      { engines },
    );
    try {
      for (const model of ['a', 'b', 'a', 'b']) {
        const got = await send(gateway.url + CHAT, { body: { ...large(), model } });
        expect(got.json['model']).toBe(model);
      }
    } finally {
      await gateway.close();
      for (const engine of engines) await engine.stop();
    }
  });

  it('a sleeping engine gets none: the RL filter stands on this path too', async () => {
    const engine = await new MockEngine().start();
    const gateway = await startGateway(
      {
        requests: { streamRequestBodiesOver: 1024 },
        routing: { policy: 'round_robin' },
        rl: { enabled: true },
      },
      { engines: [engine] },
    );
    try {
      const { workers } = await workersOf(gateway.url).list();
      const id = workers[0]?.id ?? '';
      const slept = await send(
        `${gateway.url}/v1/rl/workers/${id}/engine/release_memory_occupation`,
        {
          body: {},
        },
      );
      expect(slept.status).toBe(200);
      const before = engine.counters.of(CHAT);
      const got = await send(gateway.url + CHAT, { body: large() });
      expect([got.status, got.headers['x-smg-error-code']]).toEqual([503, 'no_available_workers']);
      expect(engine.counters.of(CHAT)).toBe(before);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});

/** Takes uploads as slowly as it is told, and keeps only their hash. */
class SlowEngine {
  readonly hashes: string[] = [];
  open = 0;
  isTaking = true;
  private readonly waiting = new Set<() => void>();
  private readonly server: Server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.end('{"object":"list","data":[{"id":"mock-model"}]}');
      return;
    }
    this.open += 1;
    const hash = createHash('sha256');
    request.on('data', (chunk: Buffer) => hash.update(chunk));
    request.on('end', () => {
      this.open -= 1;
      this.hashes.push(hash.digest('hex'));
      response.end('{}');
    });
    if (!this.isTaking) {
      request.pause();
      this.waiting.add(() => request.resume());
    }
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  take(): void {
    this.isTaking = true;
    for (const go of this.waiting) go();
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

describeLanes('memory of large bodies', ({ hotLane }) => {
  it('[#74] 50 times 20 MiB at once to an engine that waits: memory stays, then every byte arrives', async () => {
    const engine = new SlowEngine();
    const url = await engine.start();
    const gateway = await startGateway({
      routing: { policy: 'round_robin' },
      requests: { hotLane, streamRequestBodiesOver: MIB, streamBodyStallTimeoutSecs: 60 },
      health: { checksDisabled: true },
    });
    const sockets: Socket[] = [];
    try {
      await workersOf(gateway.url).added({ url, models: [{ id: 'mock-model' }] });
      const size = 20 * MIB;
      const piece = Buffer.alloc(64 * 1024, 'abcdefgh');
      const expected = createHash('sha256');
      for (let at = 0; at < size; at += piece.length) expected.update(piece);
      const digest = expected.digest('hex');
      engine.isTaking = false;
      const before = heldBytes();
      let written = 0;
      let answers = 0;
      for (let at = 0; at < 50; at += 1) {
        const socket = connect(gateway.port, '127.0.0.1');
        sockets.push(socket);
        socket.on('error', () => undefined);
        socket.on('data', () => (answers += 1));
        socket.write(head(size));
        let left = size;
        const more = (): void => {
          while (left > 0) {
            left -= piece.length;
            written += piece.length;
            if (!socket.write(piece)) {
              socket.once('drain', more);
              return;
            }
          }
        };
        more();
      }
      await until('all have begun', () => engine.open === 50, 15_000);
      let last = -1;
      await until('they wait', async () => {
        const now = written;
        const stands = now === last;
        last = now;
        await new Promise((resolve) => setTimeout(resolve, 200));
        return stands;
      });
      // Clients, gateway and engine are one process here: this is what all three hold of 1,000 MiB.
      expect(heldBytes() - before).toBeLessThan(60 * MIB);
      engine.take();
      await until('all are through', () => answers >= 50, 60_000);
      expect(engine.hashes).toHaveLength(50);
      expect(new Set(engine.hashes)).toEqual(new Set([digest]));
    } finally {
      for (const socket of sockets) socket.destroy();
      await gateway.close();
      await engine.stop();
    }
  }, 90_000);

  it('the stall clock does not run while the engine is behind', async () => {
    const engine = new SlowEngine();
    const url = await engine.start();
    const gateway = await startGateway({
      routing: { policy: 'round_robin' },
      requests: { hotLane, streamRequestBodiesOver: 1024, streamBodyStallTimeoutSecs: 1 },
      health: { checksDisabled: true },
    });
    try {
      await workersOf(gateway.url).added({ url, models: [{ id: 'mock-model' }] });
      engine.isTaking = false;
      const asking = send(gateway.url + CHAT, { body: Buffer.alloc(20 * MIB, 0x20) });
      await until('it has begun', () => engine.open === 1);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      engine.take();
      expect((await asking).status).toBe(200);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
