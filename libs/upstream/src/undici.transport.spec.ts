import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { type WorkerEvent, type WorkerEventListener } from '@smg/plugin-api';
import { type UpstreamFailure } from './core/upstream-failure';
import { UndiciTransport } from './undici.transport';
import { UndiciWorkerCaller } from './undici.worker-caller';
import { UpstreamPool } from './upstream.pool';
import { type UpstreamHandler } from './upstream.transport';
import { WorkerAddressGuard } from './worker-address.guard';
import { WorkerConnector } from './worker.connector';

/** A server that speaks raw bytes: `answer` is called for each request head plus body it sees. */
async function rawServer(answer: (socket: Socket, requests: number, text: string) => void) {
  const sockets = new Set<Socket>();
  const seen: string[] = [];
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    let count = 0;
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      text += data.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end === -1 || text.length < end + 4 + length) return;
      seen.push(text);
      const whole = text;
      text = '';
      count += 1;
      answer(socket, count, whole);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    seen,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Recorder implements UpstreamHandler {
  status = 0;
  headers: readonly string[] = [];
  body = '';
  resends = 0;
  allowsResend = true;
  outcome: 'end' | UpstreamFailure | undefined;
  accept = true;
  private wake: (() => void) | undefined;
  readonly done = new Promise<void>((resolve) => (this.wake = resolve));
  onHead(status: number, raw: readonly string[]) {
    this.status = status;
    this.headers = raw;
  }
  onData(chunk: Buffer) {
    this.body += chunk.toString();
    return this.accept;
  }
  onEnd() {
    expect(this.outcome).toBeUndefined();
    this.outcome = 'end';
    this.wake?.();
  }
  onError(failure: UpstreamFailure) {
    expect(this.outcome).toBeUndefined();
    this.outcome = failure;
    this.wake?.();
  }
  onResend() {
    this.resends += 1;
    return this.allowsResend;
  }
  get kind() {
    return typeof this.outcome === 'object' ? this.outcome.kind : this.outcome;
  }
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

function build(idleSecs = 3) {
  let listener: WorkerEventListener = () => undefined;
  const options = { poolIdleTimeoutSecs: idleSecs, connectTimeoutMs: 1000 };
  const pool = new UpstreamPool(
    options,
    { subscribe: (l) => ((listener = l), () => undefined), emit: () => undefined },
    new WorkerConnector(options, new WorkerAddressGuard(options)),
  );
  pool.onModuleInit();
  const transport = new UndiciTransport(pool);
  const send = (baseUrl: string, handler: UpstreamHandler, body: string | null = '{}') =>
    transport.dispatch(
      {
        baseUrl,
        method: body === null ? 'GET' : 'POST',
        path: '/generate',
        headers: [],
        body: body === null ? null : Buffer.from(body),
      },
      handler,
    );
  const run = async (baseUrl: string, body: string | null = '{}') => {
    const recorder = new Recorder();
    send(baseUrl, recorder, body);
    await recorder.done;
    return recorder;
  };
  return {
    pool,
    transport,
    send,
    run,
    emit: (event: WorkerEvent) => {
      listener(event);
    },
  };
}

const tick = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));

describe('UndiciTransport', () => {
  const upstream = build();
  afterAll(() => {
    upstream.pool.onModuleDestroy();
  });

  it('reuses one connection, keeps the path prefix of the base URL', async () => {
    const server = await rawServer((socket) => socket.write(OK));
    for (let i = 0; i < 3; i += 1) expect((await upstream.run(`${server.url}/a`)).body).toBe('ok');
    expect(server.sockets.size).toBe(1);
    expect(server.seen[0]).toMatch(/^POST \/a\/generate HTTP\/1\.1\r\n/);
    expect(server.seen[0]?.match(/content-length/gi)).toHaveLength(1);
    await server.close();
  });

  it('sends a large body with one Content-Length, and again when the pooled connection had died', async () => {
    const body = 'x'.repeat(300_000);
    const server = await rawServer((socket, count) => {
      if (count === 1) socket.write(OK);
      else socket.resetAndDestroy();
    });
    await upstream.run(server.url);
    expect(await upstream.run(server.url, body)).toMatchObject({ status: 200, resends: 1 });
    for (const text of server.seen.slice(1)) {
      expect(text.match(/content-length: 300000/gi)).toHaveLength(1);
      expect(text).not.toMatch(/transfer-encoding/i);
      expect(text.endsWith(`\r\n\r\n${body}`)).toBe(true);
    }
    await server.close();
  });

  it('skips interim answers', async () => {
    const server = await rawServer((socket) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${OK}`),
    );
    expect(await upstream.run(server.url)).toMatchObject({
      status: 200,
      body: 'ok',
      outcome: 'end',
    });
    await server.close();
  });

  it.each([
    ['status 099', 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['status 600', 'HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['status 999', 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['101 with upgrade', 'HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n'],
    ['101 without upgrade', 'HTTP/1.1 101 S\r\n\r\n'],
    ['no number', 'HTTP/1.1 OK\r\n\r\n'],
    ['garbage', 'hello there\r\n\r\n'],
    [
      'TE and CL together',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a storm of interim answers', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(10_001)],
    ['a head of 100 KiB', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(100 * 1024)}\r\n\r\n`],
  ])('calls %s an invalid answer', async (_, bytes) => {
    const server = await rawServer((socket) => socket.write(bytes));
    expect((await upstream.run(server.url)).kind).toBe('invalid');
    await server.close();
  });

  it('says connect when nobody listens', async () => {
    const server = await rawServer(() => undefined);
    await server.close();
    const result = await upstream.run(server.url);
    expect(result.kind).toBe('connect');
    expect((result.outcome as UpstreamFailure).message).toContain('ECONNREFUSED');
  });

  it.each([
    ['reset', (s: Socket) => s.resetAndDestroy()],
    ['closed', (s: Socket) => s.end()],
    ['cut in the head', (s: Socket) => s.end('HTTP/1.1 200 OK\r\nConte')],
    ['cut in the body', (s: Socket) => s.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc')],
    [
      'cut in a chunk',
      (s: Socket) => s.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab'),
    ],
    [
      'cut between chunks, then closed',
      (s: Socket) =>
        s.end(
          'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n',
        ),
    ],
  ])('never calls a connection %s an end, and sends once on a new connection', async (_, act) => {
    const server = await rawServer((socket) => void act(socket));
    const result = await upstream.run(server.url);
    expect(result.outcome).not.toBe('end');
    expect(server.seen).toHaveLength(1);
    await server.close();
  });

  it('resends once when a reused connection dies without a byte', async () => {
    const server = await rawServer((socket, count) => {
      if (count === 1) socket.write(OK);
      else socket.resetAndDestroy();
    });
    await upstream.run(server.url);
    const second = await upstream.run(server.url);
    expect(second).toMatchObject({ status: 200, resends: 1, outcome: 'end' });
    expect(server.seen).toHaveLength(3);
    await server.close();
  });

  it('does not resend what its handler does not want sent again', async () => {
    const server = await rawServer((socket, count) => {
      if (count === 1) socket.write(OK);
      else socket.resetAndDestroy();
    });
    await upstream.run(server.url);
    const recorder = new Recorder();
    recorder.allowsResend = false;
    upstream.send(server.url, recorder, '{}');
    await recorder.done;
    expect(recorder.kind).toBe('reset');
    expect(server.seen).toHaveLength(2);
    await server.close();
  });

  it('does not resend after one byte of an answer', async () => {
    const server = await rawServer((socket, count) => {
      if (count === 1) socket.write(OK);
      else socket.end('H');
    });
    await upstream.run(server.url);
    const second = await upstream.run(server.url);
    expect(second.outcome).not.toBe('end');
    expect(second.resends).toBe(0);
    expect(server.seen).toHaveLength(2);
    await server.close();
  });

  it('survives an engine that closes idle connections at the worst moment', async () => {
    const server = await rawServer((socket) => {
      socket.write(OK, () => setImmediate(() => socket.end()));
    });
    for (let i = 0; i < 200; i += 1) expect((await upstream.run(server.url)).outcome).toBe('end');
    await server.close();
  });

  it('closes the connection on abort, before and after the head, and then is silent', async () => {
    for (const bytes of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab']) {
      const server = await rawServer((socket) => {
        if (bytes) socket.write(bytes);
      });
      const recorder = new Recorder();
      const call = upstream.send(server.url, recorder);
      while (server.seen.length === 0) await tick();
      await tick(20);
      call.abort();
      call.abort();
      await tick(30);
      expect(server.sockets.size).toBe(0);
      expect(recorder.outcome).toBeUndefined();
      await server.close();
    }
  });

  it('stops reading when told to, and goes on after resume', async () => {
    const total = 8 * 1024 * 1024;
    const server = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
      socket.write(Buffer.alloc(total, 97));
    });
    const recorder = new Recorder();
    recorder.accept = false;
    const call = upstream.send(server.url, recorder);
    await tick(60);
    const held = recorder.body.length;
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThan(1024 * 1024);
    recorder.accept = true;
    call.resume();
    await recorder.done;
    expect(recorder.body.length).toBe(total);
    await server.close();
  });

  it('reports a malformed request without throwing', async () => {
    const recorder = new Recorder();
    upstream.transport.dispatch(
      { baseUrl: 'http://127.0.0.1:1', method: 'POST', path: '/a b', headers: [], body: null },
      recorder,
    );
    expect(recorder.outcome).toBeUndefined();
    await recorder.done;
    expect(recorder.kind).toBe('invalid');
  });
});

describe('UpstreamPool', () => {
  it('holds nothing after engines came and went', async () => {
    const { pool, run, emit } = build();
    const server = await rawServer((socket) => socket.write(OK));
    for (let i = 0; i < 100; i += 1) {
      const url = `${server.url}/${i}`;
      await run(url);
      emit({ kind: 'removed', worker: { baseUrl: url } as never });
      pool.of(`http://127.0.0.1:1/${i}`).close();
    }
    await tick(20);
    expect(pool.openConnections).toBe(0);
    expect(pool.engineCount).toBe(0);
    await server.close();
  });

  it('drops a connection the engine closed while idle', async () => {
    const { pool, run } = build();
    const server = await rawServer((socket) => socket.write(OK));
    await run(server.url);
    expect(pool.openConnections).toBe(1);
    for (const socket of server.sockets) socket.destroy();
    await tick(20);
    expect(pool.openConnections).toBe(0);
    expect(pool.engineCount).toBe(0);
    await server.close();
  });

  it('lets a request finish when its engine is removed under it', async () => {
    const { pool, send, emit } = build();
    let finish: () => void = () => undefined;
    const server = await rawServer((socket) => {
      finish = () => socket.write(OK);
    });
    const recorder = new Recorder();
    send(server.url, recorder);
    while (server.seen.length === 0) await tick();
    emit({ kind: 'removed', worker: { baseUrl: server.url } as never });
    finish();
    await recorder.done;
    expect(recorder.body).toBe('ok');
    expect(pool.openConnections).toBe(0);
    await server.close();
  });
});

describe('UndiciWorkerCaller', () => {
  const { pool, transport } = build();
  const caller = new UndiciWorkerCaller(transport);
  afterAll(() => {
    pool.onModuleDestroy();
  });

  it('sends the worker key, one framing header, and returns a capped answer', async () => {
    const server = await rawServer((socket) => socket.write(OK));
    const answer = await caller.call({
      baseUrl: server.url,
      method: 'POST',
      path: '/pause?x=1',
      headers: ['Content-Length', '99', 'X-A', '1', 'X-A', '2'],
      body: Buffer.from('{}'),
      apiKey: 'k',
      timeoutMs: 1000,
      maxBodyBytes: 1,
    });
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(answer.body.toString()).toBe('o');
    const text = server.seen[0] ?? '';
    expect(text.match(/content-length: 2\r\n/gi)).toHaveLength(1);
    expect(text.match(/x-a: /gi)).toHaveLength(2);
    expect(text).toContain('authorization: Bearer k');
    await server.close();
  });

  it('stops at the limit when told to, although the engine never ends its answer', async () => {
    const server = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    });
    const call = { baseUrl: server.url, method: 'GET', path: '/x', timeoutMs: 5_000 };
    const answer = await caller.call({ ...call, maxBodyBytes: 2, stopsAtLimit: true });
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(answer.body.toString()).toBe('ab');
    await tick(30);
    expect(server.sockets.size).toBe(0);
    await server.close();
  });

  it('rejects with timeout before the head and inside the body, and closes the connection', async () => {
    for (const bytes of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab']) {
      const server = await rawServer((socket) => {
        if (bytes) socket.write(bytes);
      });
      const call = caller.call({ baseUrl: server.url, method: 'GET', path: '/x', timeoutMs: 40 });
      await expect(call).rejects.toMatchObject({ failure: 'timeout' });
      await tick(30);
      expect(server.sockets.size).toBe(0);
      await server.close();
    }
  });

  it('tells unreachable from aborted, and never repeats a POST', async () => {
    const server = await rawServer((socket, count) => {
      if (count === 1) socket.write(OK);
      else socket.destroy();
    });
    const post = { baseUrl: server.url, method: 'POST', path: '/pause', timeoutMs: 1000 };
    await caller.call({ ...post, method: 'GET' });
    await caller.call(post);
    expect(server.sockets.size).toBe(2);
    const aborter = new AbortController();
    aborter.abort();
    await expect(caller.call({ ...post, signal: aborter.signal })).rejects.toMatchObject({
      failure: 'aborted',
    });
    await server.close();
    await expect(caller.call(post)).rejects.toMatchObject({ failure: 'unreachable' });
  });
});
