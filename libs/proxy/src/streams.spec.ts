import { type Socket } from 'node:net';
import {
  ask,
  Bench,
  chunk,
  json,
  post,
  RawClient,
  RawEngine,
  SSE_HEAD,
  unchunk,
  waitFor,
} from '../test/test-support';

const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
const STREAM = JSON.stringify({
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  stream: true,
});
const chat = (body = CHAT, headers = '', connection = 'close') =>
  post('/v1/chat/completions', body, headers, connection);

describe('streams through the data plane', () => {
  let bench: Bench;
  const engines: RawEngine[] = [];
  const engine = async (...args: Parameters<typeof RawEngine.open>) => {
    const opened = await RawEngine.open(...args);
    engines.push(opened);
    return opened;
  };
  const open = async (...args: Parameters<typeof Bench.open>) =>
    (bench = await Bench.open(...args));

  afterEach(async () => {
    // Whatever a test did: one record per request, nobody in flight.
    await waitFor(() => bench.records.length === bench.started);
    for (const worker of bench.workers) expect(worker.load).toBe(0);
    expect(bench.faults).toEqual([]);
    await bench.close();
    for (const opened of engines.splice(0)) await opened.close();
  });

  describe('streams', () => {
    it.each([1, 2, 3, 5, 7])(
      'passes a multi-byte delta unchanged when split every %d bytes',
      async (size) => {
        await open();
        const text = 'data: {"delta":"汉字🙂"}\r\n\r\n: ping - 2\n\ndata: [DONE]\n\n';
        const bytes = Buffer.from(text);
        const e = await engine((socket) => {
          let out = SSE_HEAD;
          for (let at = 0; at < bytes.length; at += size) {
            const part = bytes.subarray(at, at + size);
            out += `${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`;
          }
          socket.write(Buffer.from(out + '0\r\n\r\n', 'latin1'));
        });
        bench.add(e.url);
        const answer = await ask(bench, chat(STREAM));
        const { text: got, isComplete } = unchunk(answer.body);
        expect(Buffer.from(got, 'latin1').equals(bytes)).toBe(true);
        expect(isComplete).toBe(true);
        expect(answer.head).toMatch(/content-type: text\/event-stream/i);
      },
    );

    const cuts: [string, (s: Socket) => void][] = [
      ['FIN after one event', (s) => s.end(SSE_HEAD + chunk('data: {"a":1}\n\n'))],
      [
        'RST after one event',
        (s) => {
          s.write(SSE_HEAD + chunk('data: {"a":1}\n\n'), () =>
            setTimeout(() => s.resetAndDestroy(), 30),
          );
        },
      ],
      ['FIN inside an event', (s) => s.end(SSE_HEAD + chunk('data: {"a":'))],
      ['FIN inside a chunk', (s) => s.end(SSE_HEAD + chunk('data: {"a":1}\n\n') + 'ff\r\ndata')],
      [
        'close-delimited without a terminal marker',
        (s) =>
          s.end(
            'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {"a":1}\n\n',
          ),
      ],
    ];
    it.each(cuts)('never finishes a stream cut by %s', async (_, act) => {
      await open();
      const e = await engine((socket) => {
        act(socket);
      });
      const worker = bench.add(e.url);
      const answer = await ask(bench, chat(STREAM, 'X-Request-Id: rr\r\n'));
      const { text, isComplete } = unchunk(answer.body);
      expect(isComplete).toBe(false);
      expect(text).not.toContain('[DONE]');
      const last =
        text
          .split('\n\n')
          .filter((part) => part !== '')
          .at(-1) ?? '';
      expect(text.endsWith('\n\n')).toBe(true);
      expect(JSON.parse(last.replace('data: ', '')).error).toMatchObject({
        code: 'upstream_stream_truncated',
        request_id: 'rr',
      });
      expect(bench.records[0]).toMatchObject({ status: 200, truncated: true, clientGone: false });
      expect(worker.failures).toEqual([502]);
      expect(e.seen).toHaveLength(1);
      expect(bench.metrics.sum('smg_router_streams_truncated_total')).toBe(1);
    });

    it('takes a close-delimited stream with its terminal marker for complete', async () => {
      await open();
      const e = await engine((s) =>
        s.end(
          'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nevent: message_stop\ndata: {}\n\n',
        ),
      );
      const worker = bench.add(e.url);
      const answer = await ask(bench, chat(STREAM));
      expect(unchunk(answer.body).isComplete).toBe(true);
      expect(worker.outcomes).toEqual([200]);
    });

    it('answers 502 to an empty stream before any byte goes out', async () => {
      await open();
      const e = await engine((s) =>
        s.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n'),
      );
      bench.add(e.url);
      const answer = await ask(bench, chat(STREAM));
      expect(answer.status).toBe(502);
      expect(answer.head).toContain('x-smg-error-code: upstream_empty_response');
      expect(e.seen).toHaveLength(1);
    });

    it('names the type of a stream the engine left unnamed, and keeps the one it gave', async () => {
      await open();
      const e = await engine((s, _, n) => {
        const type = n === 1 ? '' : 'Content-Type: application/x-ndjson\r\n';
        s.write(
          `HTTP/1.1 200 OK\r\n${type}Transfer-Encoding: chunked\r\n\r\n${chunk('x')}0\r\n\r\n`,
        );
      });
      bench.add(e.url);
      expect((await ask(bench, chat(STREAM))).head).toMatch(/content-type: text\/event-stream/);
      expect((await ask(bench, chat(STREAM))).head).toMatch(/content-type: application\/x-ndjson/i);
    });

    it('sends the head of a silent stream on after 200 ms', async () => {
      await open();
      const e = await engine((s) => s.write(SSE_HEAD));
      bench.add(e.url);
      const startedAt = Date.now();
      const client = new RawClient(bench.port).send(chat(STREAM));
      await client.until((text) => text.includes('\r\n\r\n'));
      expect(Date.now() - startedAt).toBeGreaterThanOrEqual(180);
      client.socket.destroy();
    });

    it('passes a first error event on and counts it as an upstream error', async () => {
      await open();
      const e = await engine((s) =>
        s.write(SSE_HEAD + chunk('data: {"error":{"code":429}}\n\n') + '0\r\n\r\n'),
      );
      const worker = bench.add(e.url);
      const answer = await ask(bench, chat(STREAM));
      expect(unchunk(answer.body)).toEqual({
        text: 'data: {"error":{"code":429}}\n\n',
        isComplete: true,
      });
      expect(worker.outcomes).toEqual([429]);
      expect(bench.metrics.sum('smg_router_request_errors_total')).toBe(1);
    });

    it('relays an error answer to a streaming request as it is', async () => {
      await open();
      const e = await engine((s) => s.write(json(400, '{"mine":1}')));
      bench.add(e.url);
      expect(await ask(bench, chat(STREAM))).toMatchObject({ status: 400, body: '{"mine":1}' });
    });

    it.each([
      ['no type', '\r\n'],
      [
        'Transfer-Encoding: identity',
        'Content-Type: text/event-stream\r\nTransfer-Encoding: identity\r\n\r\n',
      ],
    ])(
      'with %s: its end is the connection, so its last event must be there',
      async (_what, head) => {
        await open();
        let last = '';
        const e = await engine((s) => s.end(`HTTP/1.1 200 OK\r\n${head}data: {"a":1}\n\n${last}`));
        bench.add(e.url);
        const cut = unchunk((await ask(bench, chat(STREAM))).body);
        expect(cut.isComplete).toBe(false);
        expect(cut.text).toContain('upstream_stream_truncated');
        last = 'data: [DONE]\n\n';
        expect(unchunk((await ask(bench, chat(STREAM))).body)).toEqual({
          text: `data: {"a":1}\n\n${last}`,
          isComplete: true,
        });
      },
    );

    it('an encoded event stream is relayed, and nothing is written into one that breaks', async () => {
      await open();
      const head =
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n';
      let answer = `${head}\r\n\x1f\x8bbytes`;
      const e = await engine((s) => s.end(answer, 'latin1'));
      bench.add(e.url);
      expect(unchunk((await ask(bench, chat(STREAM))).body)).toEqual({
        text: '\x1f\x8bbytes',
        isComplete: true,
      });
      answer = `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nbytes\r\n`;
      expect(unchunk((await ask(bench, chat(STREAM))).body)).toEqual({
        text: 'bytes',
        isComplete: false,
      });
    });

    it.each([
      ['gzip', CHAT],
      ['gzip, chunked', CHAT],
      ['gzip, chunked', STREAM],
    ])('Transfer-Encoding: %s cannot be relayed as it is: 502', async (coding, body) => {
      await open();
      const e = await engine((s) => {
        s.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
      });
      bench.add(e.url);
      const answer = await ask(bench, chat(body));
      expect(answer.status).toBe(502);
      expect(answer.head).toMatch(/x-smg-error-code: upstream_invalid_response/i);
      expect(e.sockets.size).toBe(0);
    });

    it('pauses the engine for a slow reader, and cuts one that stopped', async () => {
      await open({ options: { streamStallTimeoutSecs: 0.3 } });
      let written = 0;
      const e = await engine((s) => {
        s.write(SSE_HEAD);
        const block = chunk(`data: ${'z'.repeat(65_000)}\n\n`);
        const push = (): void => {
          while (!s.destroyed && written < 200e6) {
            written += block.length;
            if (!s.write(block)) {
              s.once('drain', push);
              return;
            }
          }
        };
        push();
      });
      bench.add(e.url);
      const client = new RawClient(bench.port).send(chat(STREAM));
      await client.until((text) => text.includes('data: z'));
      client.socket.pause();
      await waitFor(() => e.sockets.size === 0);
      expect(written).toBeLessThan(40e6);
      client.socket.destroy();
    });
  });
});
