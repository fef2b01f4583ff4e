import {
  type AdmissionRequest,
  type EntryControl,
  type EntryListener,
  type EntryPass,
  type EntryRefusal,
} from '@smg/plugin-api';
import {
  ask,
  Bench,
  chunk,
  json,
  post,
  RawClient,
  RawEngine,
  SSE_HEAD,
  tick,
  waitFor,
} from '../test/test-support';

const FULL: EntryRefusal = { code: 'admission_queue_full', message: 'full', retryAfterSecs: 2 };
const PREEMPTED: EntryRefusal = { code: 'scheduler_preempted', message: 'no', retryAfterSecs: 1 };

/** A gate that does what the test says, and writes down who left when. */
class ScriptedEntry implements EntryControl {
  mode: 'admit' | 'wait' | 'refuse' = 'admit';
  readonly asked: AdmissionRequest[] = [];
  readonly listeners: EntryListener[] = [];
  readonly left: number[] = [];

  enter(request: AdmissionRequest, listener: EntryListener): EntryPass {
    const index = this.listeners.push(listener) - 1;
    this.asked.push(request);
    let isOver = false;
    return {
      refusal: this.mode === 'refuse' ? FULL : undefined,
      isWaiting: this.mode === 'wait',
      leave: () => {
        if (!isOver) this.left.push(index);
        isOver = true;
        return this.mode === 'wait' ? 'scheduler_client_cancelled' : undefined;
      },
    };
  }

  close(): void {
    // Nothing waits here.
  }

  last(): EntryListener {
    const listener = this.listeners.at(-1);
    if (listener === undefined) throw new Error('nobody came');
    return listener;
  }
}

const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
const CHAT = '/v1/chat/completions';

describe('a place among the requests in flight', () => {
  let bench: Bench;
  let entry: ScriptedEntry;
  const engines: RawEngine[] = [];
  const open = async (
    script: Parameters<typeof RawEngine.open>[0],
    options: Parameters<typeof Bench.open>[0] = {},
  ): Promise<RawEngine> => {
    entry = new ScriptedEntry();
    bench = await Bench.open({ ...options, entry });
    const engine = await RawEngine.open(script);
    engines.push(engine);
    bench.add(engine.url);
    return engine;
  };
  const over = (): Promise<void> => waitFor(() => bench.records.length === bench.started);

  afterEach(async () => {
    await over();
    expect(bench.faults).toEqual([]);
    expect(bench.workers.every(({ load }) => load === 0)).toBe(true);
    expect(entry.left.length).toBe(entry.listeners.length);
    await bench.close();
    for (const engine of engines.splice(0)) await engine.close();
  });

  it('is asked for after the credentials, with what names the tenant', async () => {
    await open((socket) => socket.write(json(200, '{}')), { keys: ['k'] });
    expect((await ask(bench, post(CHAT, BODY))).status).toBe(401);
    expect(entry.asked).toHaveLength(0);
    const headers = 'Authorization: Bearer k\r\nX-Smg-Priority: bulk\r\n';
    expect((await ask(bench, post(CHAT, BODY, headers))).status).toBe(200);
    expect(entry.asked[0]).toMatchObject({ authenticatedTenant: 'auth:k', peer: '127.0.0.1' });
    expect(entry.asked[0]?.header('x-smg-priority')).toBe('bulk');
  });

  it('is not asked for by information routes', async () => {
    await open((socket) => socket.write(json(200, '{}')));
    const answer = await ask(
      bench,
      'GET /get_server_info HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n',
    );
    expect(answer.status).toBe(200);
    expect(entry.listeners).toHaveLength(0);
  });

  it('refused: the answer says when to come again, the engine hears nothing', async () => {
    const engine = await open((socket) => socket.write(json(200, '{}')));
    entry.mode = 'refuse';
    const answer = await ask(bench, post(CHAT, BODY));
    expect(answer.status).toBe(429);
    expect(answer.head).toMatch(/retry-after: 2/i);
    expect(engine.seen).toHaveLength(0);
    expect(bench.metrics.sum('smg_router_request_errors_total')).toBe(0);
  });

  it('waiting: not a byte of the body is asked for', async () => {
    await open((socket) => socket.write(json(200, '{}')));
    entry.mode = 'wait';
    const head = post(CHAT, BODY, 'Expect: 100-continue\r\n').slice(0, -BODY.length);
    const client = new RawClient(bench.port).send(head);
    await waitFor(() => entry.listeners.length === 1);
    await tick(30);
    expect(client.text).toBe('');
    expect(entry.last().hasAnswered).toBe(false);
    entry.last().onAdmitted();
    await client.until((text) => text.includes('100 Continue'));
    client.send(BODY);
    await client.until((text) => text.includes(' 200 '));
    client.socket.destroy();
  });

  it('a client that leaves while waiting is recorded as such', async () => {
    await open((socket) => socket.write(json(200, '{}')));
    entry.mode = 'wait';
    const client = new RawClient(bench.port).send(post(CHAT, BODY));
    await waitFor(() => entry.listeners.length === 1);
    client.socket.destroy();
    await over();
    expect(bench.records[0]).toMatchObject({
      status: 499,
      errorCode: 'scheduler_client_cancelled',
      clientGone: true,
    });
  });

  describe('taken away', () => {
    const stopped = async (client: RawClient): Promise<void> => {
      expect(entry.last().hasAnswered).toBe(false);
      entry.last().onRefused(PREEMPTED);
      const answer = await client.until((text) => text.includes('scheduler_preempted"'));
      expect(answer.status).toBe(503);
      expect(answer.head).toMatch(/x-smg-preempted: true/i);
      expect(answer.head).not.toMatch(/x-smg-routed-worker-id/i);
      client.socket.destroy();
      await over();
    };

    it('while the body arrives', async () => {
      const engine = await open((socket) => socket.write(json(200, '{}')));
      const client = new RawClient(bench.port).send(post(CHAT, BODY).slice(0, -5));
      await waitFor(() => entry.listeners.length === 1);
      await tick(10);
      await stopped(client);
      expect(engine.seen).toHaveLength(0);
    });

    it('while the engine works: it is told, and not blamed', async () => {
      const engine = await open(() => undefined);
      const client = new RawClient(bench.port).send(post(CHAT, BODY));
      await waitFor(() => engine.seen.length === 1);
      await stopped(client);
      await waitFor(() => engine.sockets.size === 0);
      expect(bench.workers[0]?.failures).toEqual([]);
    });

    it('between two attempts: there is no second one', async () => {
      const engine = await open((socket) => socket.write(json(503, '{}')));
      const [worker] = bench.workers;
      if (worker !== undefined)
        worker.retry = { ...worker.retry, initialBackoffMs: 60, maxBackoffMs: 60 };
      const client = new RawClient(bench.port).send(post(CHAT, BODY));
      await waitFor(() => worker?.outcomes.length === 1);
      await stopped(client);
      await tick(100);
      expect(engine.seen).toHaveLength(1);
    });

    it('while a part of a buffered answer is held back', async () => {
      await open((socket) => socket.write(json(200, '{"a":1}').slice(0, -2)));
      const client = new RawClient(bench.port).send(post(CHAT, BODY));
      await waitFor(() => bench.workers[0]?.load === 1);
      await tick(20);
      await stopped(client);
    });
  });

  it('is safe once a byte has gone out', async () => {
    await open((socket) => socket.write(SSE_HEAD + chunk('data: 1\n\n')));
    const client = new RawClient(bench.port).send(post(CHAT, BODY));
    await client.until((text) => text.includes('data: 1'));
    expect(entry.last().hasAnswered).toBe(true);
    client.socket.destroy();
    await over();
  });

  it('is given back as an error is answered, not when its upload has been read', async () => {
    await open((socket) => socket.write(json(200, '{}')), { options: { maxPayloadSize: 100 } });
    const client = new RawClient(bench.port).send(
      `POST ${CHAT} HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n${chunk('x'.repeat(200))}`,
    );
    await client.until((text) => text.includes('request_body_too_large'));
    expect(entry.left).toEqual([0]);
    client.socket.destroy();
    await over();
  });
});
