import { ResponseInterceptor, type ResponseHead } from '@smg/plugin-api';
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

const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
const STREAM = JSON.stringify({
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  stream: true,
});
const chat = (body = CHAT, headers = '', connection = 'close') =>
  post('/v1/chat/completions', body, headers, connection);

describe('data plane', () => {
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

  describe('relaying', () => {
    it('passes bytes, status and repeated headers, and stamps the worker', async () => {
      await open();
      const e = await engine((socket) =>
        socket.write(
          json(
            201,
            '{"n":9007199254740993}',
            'Set-Cookie: a\r\nSet-Cookie: b\r\nX-SMG-Error-Code: forged\r\nX-Request-Id: theirs\r\nContent-Encoding: gzip\r\n',
          ),
        ),
      );
      const worker = bench.add(e.url);
      const body = '{ "model":"m","messages":[ {"role":"user"} ], "seed":9007199254740993 }';
      const answer = await ask(
        bench,
        chat(body, 'X-Request-Id: r1\r\nCookie: c=1\r\nTraceparent: t\r\n'),
      );
      expect(answer.status).toBe(201);
      expect(answer.body).toBe('{"n":9007199254740993}');
      expect(answer.head.match(/set-cookie: /gi)).toHaveLength(2);
      expect(answer.head).toMatch(/content-encoding: gzip/i);
      expect(answer.head).not.toContain('forged');
      expect(answer.head.match(/x-request-id: .*/gi)).toEqual(['x-request-id: r1']);
      expect(answer.head).toContain(`x-smg-routed-worker-id: ${worker.url}`);
      const seen = e.seen[0] ?? '';
      expect(seen.endsWith(`\r\n\r\n${body}`)).toBe(true);
      expect(seen).toMatch(/traceparent: t\r\n/);
      expect(seen).not.toMatch(/cookie/i);
      expect(seen).toMatch(/accept-encoding: identity\r\n/);
      expect(worker.outcomes).toEqual([201]);
      expect(bench.records[0]).toMatchObject({
        status: 201,
        requestId: 'r1',
        attempts: 1,
        model: 'm',
        clientGone: false,
      });
    });

    it('rewrites an alias and adds the rank, nothing else', async () => {
      await open({ aliases: { alias: 'm' } });
      const e = await engine((socket) => socket.write(json(200, '{}')));
      bench.add(e.url).dpRank = 3;
      await ask(bench, post('/generate', '{"model":"alias", "x":1.10}'));
      expect(e.seen[0]).toMatch(/\r\n\r\n\{"data_parallel_rank":3,"model":"m", "x":1\.10\}$/);
      expect(bench.records[0]?.worker).toBe(`${e.url}@3`);
    });

    it('keeps serving on one client connection', async () => {
      await open();
      const e = await engine((socket) => socket.write(json(200, 'ok')));
      bench.add(e.url);
      const client = new RawClient(bench.port);
      for (let i = 1; i <= 3; i += 1) {
        client.send(chat(CHAT, '', 'keep-alive'));
        await client.until((text) => text.split('\r\n\r\nok').length === i + 1);
      }
      expect(e.sockets.size).toBe(1);
      client.socket.destroy();
    });

    it('relays an answer over 1 MiB as it arrives, and holds a smaller one', async () => {
      await open();
      const big = 'x'.repeat(3 * 1024 * 1024);
      const e = await engine((socket) => socket.write(json(200, big)));
      bench.add(e.url);
      const answer = await ask(bench, chat());
      expect(answer.body.length).toBe(big.length);
      expect(answer.head).toMatch(/content-length: 3145728/);
    });

    it('refuses an answer over the payload limit', async () => {
      await open({ options: { maxPayloadSize: 1000 } });
      const e = await engine((socket, request) => {
        if (request.includes('chunk')) {
          socket.write(
            'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' +
              chunk('y'.repeat(1001)) +
              '0\r\n\r\n',
          );
        } else socket.write(json(200, 'x'.repeat(1001)));
      });
      bench.add(e.url);
      for (const prompt of ['hi', 'chunk']) {
        const answer = await ask(bench, post('/generate', JSON.stringify({ text: prompt })));
        expect(answer.status).toBe(502);
        expect(answer.head).toContain('x-smg-error-code: upstream_response_too_large');
        expect(answer.head).toContain('x-smg-routed-worker-id');
      }
    });

    it('relays information routes from the first ready worker, with the other name after a 404', async () => {
      await open();
      const down = bench.add('http://127.0.0.1:1');
      down.isReady = false;
      const e = await engine((socket, request) =>
        socket.write(
          request.startsWith('GET /model_info?a=1 ') ? json(200, '{"ok":1}') : json(404, ''),
        ),
      );
      bench.add(e.url);
      const get = (method: string) =>
        `${method} /get_model_info?a=1 HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`;
      expect(await ask(bench, get('GET'))).toMatchObject({ status: 200, body: '{"ok":1}' });
      const head = await ask(bench, get('HEAD'));
      expect(head).toMatchObject({ status: 200, body: '' });
      expect(head.head).toMatch(/content-length: 8/i);
    });
  });

  describe('failures and retries', () => {
    it('avoids the worker that failed, and tells the client nothing', async () => {
      await open();
      const bad = await engine((s) => s.resetAndDestroy());
      const good = await engine((s) => s.write(json(200, 'ok')));
      const first = bench.add(bad.url);
      bench.add(good.url);
      expect(await ask(bench, chat())).toMatchObject({ status: 200, body: 'ok' });
      expect(first.failures).toEqual([502]);
      expect(bench.metrics.sum('smg_worker_retries_total')).toBe(1);
    });

    it('retries a retryable answer and returns the last one unchanged', async () => {
      await open();
      const e = await engine((s, _, n) => s.write(json(503, `{"n":${n}}`, 'Retry-After: 3\r\n')));
      bench.add(e.url);
      const answer = await ask(bench, chat());
      expect(answer).toMatchObject({ status: 503, body: '{"n":3}' });
      expect(answer.head).toMatch(/retry-after: 3/i);
      expect(bench.metrics.sum('smg_worker_retries_exhausted_total')).toBe(1);
    });

    it('does not retry other statuses', async () => {
      await open();
      const e = await engine((s) => s.write(json(422, 'no')));
      bench.add(e.url);
      expect(await ask(bench, chat())).toMatchObject({ status: 422, body: 'no' });
      expect(e.seen).toHaveLength(1);
    });

    it('answers 502 when nobody listens, 504 after the deadline, both stamped', async () => {
      await open();
      const e = await engine(() => undefined);
      const silent = bench.add(e.url);
      silent.requestTimeoutMs = 40;
      silent.retry.maxAttempts = 1;
      const slow = await ask(bench, chat());
      expect(slow.status).toBe(504);
      expect(slow.head).toContain('x-smg-error-code: call_upstream_timeout');
      expect(slow.head).toContain('x-smg-routed-worker-id');
      await waitFor(() => e.sockets.size === 0);
      await e.close();
      const refused = await ask(bench, chat());
      expect(refused.status).toBe(502);
      expect(refused.head).toContain('x-smg-error-code: call_upstream_request_error');
      engines.splice(0);
    });

    it.each([
      ['099', 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'],
      ['600', 'HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n'],
      ['101', 'HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'],
      ['no number', 'HTTP/1.1 OK\r\n\r\n'],
    ])(
      'answers 502 upstream_invalid_response to status %s, without a second try',
      async (_, bytes) => {
        await open();
        const e = await engine((s) => s.write(bytes));
        bench.add(e.url);
        const answer = await ask(bench, chat());
        expect(answer.status).toBe(502);
        expect(answer.head).toContain('x-smg-error-code: upstream_invalid_response');
        expect(e.seen).toHaveLength(1);
      },
    );

    it('answers 500 when a held answer breaks, and does not send the request again', async () => {
      await open();
      const e = await engine((s) => s.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'));
      bench.add(e.url);
      const answer = await ask(bench, chat());
      expect(answer.status).toBe(500);
      expect(answer.head).toContain('x-smg-error-code: read_response_body_failed');
      expect(answer.head).toContain('x-smg-routed-worker-id');
      expect(e.seen).toHaveLength(1);
    });

    it.each(['is reset', 'hangs until the deadline'])(
      'does not send a request again whose answer %s inside its head',
      async (how) => {
        await open();
        const e = await engine((s) =>
          s.write('HTTP/1.1 200 OK\r\nContent-Ty', () => {
            if (how === 'is reset') setTimeout(() => s.resetAndDestroy(), 20);
          }),
        );
        bench.add(e.url).requestTimeoutMs = 200;
        const answer = await ask(bench, chat());
        expect(answer.status).toBe(how === 'is reset' ? 502 : 504);
        expect(answer.head).toContain('x-smg-routed-worker-id');
        expect(e.seen).toHaveLength(1);
      },
    );

    it('stays up through resets at every offset', async () => {
      await open();
      const whole = SSE_HEAD + chunk('data: {"a":1}\n\n') + '0\r\n\r\n';
      const e = await engine((s, _, n) =>
        s.write(whole.slice(0, n % whole.length), () => s.resetAndDestroy()),
      );
      bench.add(e.url).retry.maxAttempts = 1;
      for (let i = 0; i < 60; i += 1) await ask(bench, chat(STREAM));
      expect(bench.records).toHaveLength(60);
      expect(bench.records.filter((r) => r.status === 200 && r.truncated !== true)).toHaveLength(0);
    });
  });

  describe('selection', () => {
    it('answers 404, 503 with reasons, and 503 with Retry-After when all are overloaded', async () => {
      let filtered = false;
      await open({
        select: () =>
          filtered
            ? { kind: 'all_filtered', code: 'workers_filtered', reason: '2 paused' }
            : { kind: 'no_candidates', cause: 'unavailable' },
      });
      const nobody = await ask(bench, chat());
      expect(nobody.status).toBe(404);
      expect(JSON.parse(nobody.body).error.message).toBe("No worker available for model 'm'");
      const worker = bench.add('http://127.0.0.1:1');
      const down = await ask(bench, chat());
      expect(down.status).toBe(503);
      expect(bench.records.at(-1)?.attempts).toBe(2);
      expect(down.head).not.toMatch(/routed-worker|retry-after/i);
      filtered = true;
      const all = await ask(bench, chat());
      expect(all.head).toContain('x-smg-error-code: workers_filtered');
      expect(JSON.parse(all.body).error.message).toBe(
        "no worker is eligible for model 'm': 2 paused",
      );
      filtered = false;
      worker.isReady = false;
      const shed = await ask(bench, chat());
      expect(shed.head).toMatch(/retry-after: 10/);
      expect(bench.records.at(-1)?.attempts).toBe(1);
    });
  });

  describe('clients that leave', () => {
    it.each([
      ['before the head', ''],
      ['inside a held answer', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
      ['inside a stream', SSE_HEAD + chunk('data: {}\n\n')],
    ])(
      '%s: the engine is closed at once, nobody is blamed, nothing is retried',
      async (_, bytes) => {
        await open();
        const e = await engine((s) => {
          if (bytes) s.write(bytes);
        });
        const worker = bench.add(e.url);
        const client = new RawClient(bench.port).send(
          chat(bytes.includes('event') ? STREAM : CHAT),
        );
        await waitFor(() => e.seen.length === 1);
        if (bytes.includes('event')) await client.until((text) => text.includes('data: {}'));
        else await tick(30);
        const leftAt = performance.now();
        client.socket.destroy();
        await waitFor(() => e.sockets.size === 0);
        expect(performance.now() - leftAt).toBeLessThan(150);
        await waitFor(() => bench.records.length === 1);
        expect(bench.records[0]).toMatchObject({
          clientGone: true,
          status: bytes.includes('event') ? 200 : 499,
        });
        expect([worker.outcomes, worker.failures]).toEqual([[], []]);
        expect(e.seen).toHaveLength(1);
      },
    );

    it('during a back-off: no further attempt', async () => {
      await open();
      const e = await engine((s) => s.write(json(503, 'x')));
      Object.assign(bench.add(e.url).retry, { initialBackoffMs: 100, maxBackoffMs: 100 });
      const client = new RawClient(bench.port).send(chat());
      await waitFor(() => e.seen.length === 1);
      await tick(20);
      client.socket.destroy();
      await tick(150);
      expect(e.seen).toHaveLength(1);
      expect(bench.records[0]).toMatchObject({ status: 499, clientGone: true });
    });
  });

  it('ends every pipelined request when the client leaves', async () => {
    await open();
    const e = await engine(() => undefined);
    bench.add(e.url);
    const client = new RawClient(bench.port).send(
      chat(CHAT, '', 'keep-alive') + chat(CHAT, '', 'keep-alive') + chat(CHAT, '', 'keep-alive'),
    );
    await waitFor(() => e.seen.length === 3);
    client.socket.destroy();
    await waitFor(() => bench.records.length === 3 && e.sockets.size === 0);
    expect(bench.records.map((record) => record.status)).toEqual([499, 499, 499]);
  });

  it('ends a pipelined request with the wrong method when the client leaves', async () => {
    await open();
    const e = await engine(() => undefined);
    bench.add(e.url);
    const client = new RawClient(bench.port).send(
      `${chat(CHAT, '', 'keep-alive')}GET /generate HTTP/1.1\r\nHost: g\r\n\r\n`,
    );
    await waitFor(() => e.seen.length === 1 && bench.started === 2);
    client.socket.destroy();
    await waitFor(() => bench.records.length === 2);
  });

  it('lets a slow reader finish although it takes longer than the stall time', async () => {
    await open({ options: { streamStallTimeoutSecs: 0.7 } });
    const size = 12 * 1024 * 1024;
    const e = await engine((s) => s.write(json(200, 'x'.repeat(size))));
    bench.add(e.url);
    const client = new RawClient(bench.port).send(chat());
    let taken = 0;
    client.socket.on('data', (data) => {
      taken += data.length;
      client.socket.pause();
      setTimeout(() => client.socket.resume(), 6);
    });
    await client.until(() => client.closed, 10_000);
    expect(taken).toBeGreaterThan(size);
    expect(bench.records[0]).toMatchObject({ status: 200, clientGone: false });
  }, 15_000);

  describe('interceptors', () => {
    class Probe extends ResponseInterceptor {
      readonly name = 'probe';
      readonly order = 300;
      fails = false;
      onHead(head: ResponseHead) {
        if (this.fails) throw new Error('broken');
        head.set('x-probe', head.isStream ? 'stream' : 'buffered');
      }
      override inspectsBody() {
        return true;
      }
      override onBody(head: ResponseHead, body: Buffer) {
        head.set('x-body', String(body.length));
      }
    }

    it('sees buffered bodies of any size, never a stream; a throw is a 500 before anything is sent', async () => {
      const probe = new Probe();
      await open({ interceptors: [probe] });
      const e = await engine((s, request) =>
        s.write(
          request.includes('"stream"')
            ? SSE_HEAD + chunk('data: {}\n\n') + '0\r\n\r\n'
            : json(200, 'b'.repeat(2e6)),
        ),
      );
      bench.add(e.url);
      const buffered = await ask(bench, chat());
      expect(buffered.head).toMatch(/x-probe: buffered\r\n(.*\r\n)*x-body: 2000000/);
      const stream = await ask(bench, chat(STREAM));
      expect(stream.head).toContain('x-probe: stream');
      expect(stream.head).not.toContain('x-body');
      probe.fails = true;
      for (const body of [CHAT, STREAM]) {
        const failed = await ask(bench, chat(body));
        expect(failed.status).toBe(500);
        expect(failed.head).toContain('x-smg-error-code: internal_error');
        expect(failed.text).not.toContain('broken');
      }
      expect(bench.faults.length).toBeGreaterThan(0);
      bench.faults.length = 0;
    });

    it('is asked about a large body: a throw is a 500, and the worker is not blamed', async () => {
      class Broken extends Probe {
        override inspectsBody(): boolean {
          throw new Error('broken');
        }
      }
      await open({ interceptors: [new Broken()] });
      const e = await engine((s) => s.write(json(200, 'b'.repeat(2e6))));
      const worker = bench.add(e.url);
      const failed = await ask(bench, chat());
      expect(failed.status).toBe(500);
      expect(failed.head).toContain('x-smg-error-code: internal_error');
      expect(worker.failures).toEqual([]);
      bench.faults.length = 0;
    });

    it('a throw while the other name of an information route is asked fails that request alone', async () => {
      class Tired extends Probe {
        dispatches = 0;
        override onDispatch() {
          this.dispatches += 1;
          if (this.dispatches > 1) throw new Error('broken');
        }
      }
      await open({ interceptors: [new Tired()] });
      const e = await engine((s) => s.write(json(404, '')));
      bench.add(e.url);
      const failed = await ask(
        bench,
        'GET /get_model_info HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n',
      );
      expect(failed.status).toBe(500);
      expect(bench.faults).toHaveLength(1);
      bench.faults.length = 0;
    });
  });
});
