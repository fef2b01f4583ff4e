import { connect } from 'node:net';
import { ask, Bench, json, post, RawClient, RawEngine, tick, waitFor } from '../test/test-support';

const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });

describe('intake', () => {
  let bench: Bench;
  let engine: RawEngine;
  const open = async (...args: Parameters<typeof Bench.open>) => {
    bench = await Bench.open(...args);
    engine = await RawEngine.open((socket) => socket.write(json(200, 'ok')));
    return bench.add(engine.url);
  };

  afterEach(async () => {
    await waitFor(() => bench.records.length === bench.started);
    expect(bench.faults).toEqual([]);
    await bench.close();
    await engine.close();
  });

  describe('credentials', () => {
    it('refuses without a valid key, in the shape clients read, before the body', async () => {
      await open({ keys: ['K'] });
      const answer = await ask(bench, post('/generate', '{}', 'Authorization: Bearer wrong\r\n'));
      expect(answer.status).toBe(401);
      expect(answer.head).toMatch(/www-authenticate: Bearer/i);
      expect(answer.head).toMatch(/x-request-id: gnt-/);
      expect(JSON.parse(answer.body).error).toMatchObject({
        type: 'authentication_error',
        code: 'invalid_api_key',
      });
      expect(engine.seen).toEqual([]);
    });

    it('consumes the client key and sends the worker key', async () => {
      const worker = await open({ keys: ['K'] });
      worker.apiKey = 'W';
      expect(
        (await ask(bench, post('/generate', '{}', 'Authorization: Bearer K\r\n'))).status,
      ).toBe(200);
      expect(engine.seen[0]?.match(/authorization: .*/gi)).toEqual(['authorization: Bearer W']);
    });

    it('never sends a client credential on from a public route', async () => {
      await open({ keys: ['K'] });
      for (const key of ['K', 'wrong']) {
        const bytes = `GET /get_server_info HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`;
        expect((await ask(bench, bytes)).status).toBe(200);
      }
      expect(engine.seen.join('')).not.toMatch(/authorization/i);
    });
  });

  describe('bodies', () => {
    it('answers 400 to what cannot be routed, without a code header', async () => {
      await open();
      for (const body of ['{invalid json}', '', '[]']) {
        const answer = await ask(bench, post('/generate', body));
        expect(answer.status).toBe(400);
        expect(answer.head).not.toMatch(/x-smg-error-code/i);
        expect(JSON.parse(answer.body).error.code).toBe('json_parse_error');
      }
      const noMessages = await ask(bench, post('/v1/chat/completions', '{"model":"m"}'));
      expect(JSON.parse(noMessages.body).error.message).toContain('`messages`');
    });

    it('refuses a declared size before reading, and a chunked one at the limit', async () => {
      await open({ options: { maxPayloadSize: 100 } });
      const declared = new RawClient(bench.port).send(
        'POST /generate HTTP/1.1\r\nHost: g\r\nContent-Length: 101\r\n\r\n',
      );
      const answer = await declared.until((text) => text.includes('request_body_too_large"'));
      expect(answer.status).toBe(413);
      declared.socket.destroy();
      const chunked = new RawClient(bench.port).send(
        `POST /generate HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n${'x'.repeat(101)}\r\n`,
      );
      expect((await chunked.until((text) => text.includes('request_body_too_large"'))).status).toBe(
        413,
      );
      chunked.socket.destroy();
      expect(engine.seen).toEqual([]);
    });

    it('accepts a body of exactly the limit, and one byte more not', async () => {
      const body = JSON.stringify({ text: 'x'.repeat(32_768) });
      await open({ options: { maxPayloadSize: body.length } });
      expect((await ask(bench, post('/generate', body))).status).toBe(200);
      expect((await ask(bench, post('/generate', `${body} `))).status).toBe(413);
    });

    it('answers 408 when the client pauses, however much it sent before', async () => {
      const worker = await open({ options: { bodyIdleTimeoutSecs: 0.15 } });
      const client = new RawClient(bench.port).send(
        'POST /generate HTTP/1.1\r\nHost: g\r\nContent-Length: 50\r\n\r\n{',
      );
      for (let i = 0; i < 4; i += 1) {
        await tick(80);
        client.send(' ');
      }
      expect(client.text).toBe('');
      const answer = await client.until(() => client.closed);
      expect(answer.status).toBe(408);
      expect(answer.head).toContain('x-smg-error-code: request_body_stalled');
      expect([worker.outcomes, worker.failures]).toEqual([[], []]);
    });

    it('logs 499 when the client leaves inside its upload', async () => {
      await open();
      const client = new RawClient(bench.port).send(
        'POST /generate HTTP/1.1\r\nHost: g\r\nContent-Length: 50\r\n\r\n{',
      );
      await waitFor(() => bench.started === 1);
      client.socket.destroy();
      await waitFor(() => bench.records.length === 1);
      expect(bench.records[0]).toMatchObject({ status: 499, clientGone: true });
    });

    it('delivers a 413 to a client that goes on sending', async () => {
      await open({ options: { maxPayloadSize: 1000 } });
      const client = new RawClient(bench.port);
      client.send('POST /generate HTTP/1.1\r\nHost: g\r\nContent-Length: 2000000\r\n\r\n');
      client.send('x'.repeat(2_000_000));
      const answer = await client.until(() => client.closed);
      expect(answer.status).toBe(413);
      expect(answer.body).toContain('request_body_too_large');
    });
  });

  describe('Expect: 100-continue', () => {
    const head = (extra: string, length: number) =>
      `POST /generate HTTP/1.1\r\nHost: g\r\nConnection: close\r\nExpect: 100-continue\r\n${extra}Content-Length: ${length}\r\n\r\n`;

    it('asks for the body only after credentials and size are good, and forwards no Expect', async () => {
      await open({ keys: ['K'], options: { maxPayloadSize: 100 } });
      const client = new RawClient(bench.port).send(head('Authorization: Bearer K\r\n', 2));
      await client.until((text) => text.startsWith('HTTP/1.1 100 Continue\r\n\r\n'));
      client.send('{}');
      expect((await client.until(() => client.closed)).text).toContain('HTTP/1.1 200');
      expect(engine.seen[0]).not.toMatch(/expect/i);
      for (const [extra, length, status] of [
        ['', 2, 401],
        ['Authorization: Bearer K\r\n', 101, 413],
      ] as const) {
        const refused = await ask(bench, head(extra, length));
        expect(refused.status).toBe(status);
        expect(refused.text).not.toContain('100 Continue');
      }
    });

    it.each(['more', 'more, 100-continue'])('answers 417 to %s', async (expectation) => {
      await open();
      const answer = await ask(
        bench,
        `POST /generate HTTP/1.1\r\nHost: g\r\nExpect: ${expectation}\r\nContent-Length: 2\r\n\r\n{}`,
      );
      expect(answer.status).toBe(417);
    });

    it('sends no interim answer to an HTTP/1.0 client', async () => {
      await open();
      const answer = await ask(bench, `${head('', 2).replace('1.1', '1.0')}{}`);
      expect(answer.text).not.toContain('100 Continue');
      expect(answer.status).toBe(200);
    });
  });

  describe('framing', () => {
    const smuggled = 'POST /workers HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n';
    it.each([
      [
        'TE and CL',
        `Host: g\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      ],
      [
        'two different CL',
        `Host: g\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}${smuggled}`,
      ],
      ['two equal CL', `Host: g\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n{}${smuggled}`],
      ['a list of CL', `Host: g\r\nContent-Length: 2, 2\r\n\r\n{}${smuggled}`],
      ['two Host', `Host: g\r\nhost: h\r\nContent-Length: 2\r\n\r\n{}${smuggled}`],
      ['no Host', `Content-Length: 2\r\n\r\n{}${smuggled}`],
      [
        'TE gzip, chunked',
        `Host: g\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${smuggled}`,
      ],
      [
        'TE twice',
        `Host: g\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${smuggled}`,
      ],
      [
        'TE chunked, identity',
        `Host: g\r\nTransfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n${smuggled}`,
      ],
      ['bare LF', `Host: g\nContent-Length: 2\n\n{}${smuggled}`],
      ['bare LF in one header', `Host: g\r\nX-A: 1\nContent-Length: 2\r\n\r\n{}${smuggled}`],
      ['bare CR', `Host: g\r\nX-A: 1\rX-B: 2\r\nContent-Length: 2\r\n\r\n{}${smuggled}`],
      ['obs-fold', `Host: g\r\nX-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\n{}${smuggled}`],
      [
        'obs-fold of TE',
        `Host: g\r\nTransfer-Encoding:\r\n chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${smuggled}`,
      ],
      ['NUL', `Host: g\r\nX-A: a\0b\r\nContent-Length: 2\r\n\r\n{}${smuggled}`],
      ['space before the colon', `Host: g\r\nContent-Length : 2\r\n\r\n{}${smuggled}`],
      ['a signed CL', `Host: g\r\nContent-Length: +2\r\n\r\n{}${smuggled}`],
      [
        'a bad chunk size',
        `Host: g\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n${smuggled}`,
      ],
    ])('refuses %s with 400 and closes', async (_, rest) => {
      await open();
      const client = new RawClient(bench.port).send(`POST /generate HTTP/1.1\r\n${rest}`);
      const answer = await client.until(() => client.closed);
      expect(answer.status).toBe(400);
      expect(answer.head).toMatch(/connection: close/i);
      expect(answer.text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(engine.seen).toEqual([]);
    });

    it('answers once when a refused upload then breaks its own framing', async () => {
      await open({ keys: ['K'] });
      for (const body of ['zz\r\n{}\r\n', '2\n{}\r\n', '2\r\n{}{}{}\r\n']) {
        const client = new RawClient(bench.port).send(
          `POST /generate HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n${body}${smuggled}`,
        );
        const answer = await client.until(() => client.closed);
        expect(answer.status).toBe(401);
        expect(answer.body).toContain('invalid_api_key');
        expect(answer.text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      }
    });

    it('cuts a head that trickles', async () => {
      await open();
      const client = new RawClient(bench.port).send('POST /generate HTTP/1.1\r\nHo');
      const answer = await client.until(() => client.closed, 5000);
      expect(answer.status).toBe(408);
    });
  });

  describe('methods and paths', () => {
    it.each([
      ['GET /generate', 405, 'POST'],
      ['PUT /v1/chat/completions?x=1', 405, 'POST'],
      ['POST /health_generate', 405, 'GET, HEAD'],
      ['GET /generate/', 404, undefined],
      ['GET /%67enerate', 404, undefined],
      ['GET http://g/generate', 404, undefined],
    ])('%s answers %d', async (line, status, allow) => {
      await open();
      const answer = await ask(bench, `${line} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`);
      expect(answer.status).toBe(status);
      expect(answer.body).toBe('');
      expect(/^allow: (.*)$/im.exec(answer.head)?.[1]?.trim()).toBe(allow);
    });

    it('leaves every route to the framework when the hot lane is off', async () => {
      await open({ options: { hotLane: false } });
      expect((await ask(bench, post('/generate', '{}'))).status).toBe(404);
      expect(bench.plane.paths).toContain('/generate');
    });
  });

  it('refuses requests near the limit of open files, while it can still say so', async () => {
    await open({ openFileLimit: 52 });
    const idle = Array.from({ length: 3 }, () => connect(bench.port, '127.0.0.1'));
    await tick(30);
    const answer = await ask(bench, post('/v1/chat/completions', CHAT));
    expect(answer.status).toBe(503);
    expect(answer.head).toMatch(/x-smg-error-code: connection_limit_reached/);
    expect(answer.head).toMatch(/retry-after: 1/);
    expect(answer.head).toMatch(/connection: close/);
    for (const socket of idle) socket.destroy();
    await tick(30);
    expect((await ask(bench, post('/v1/chat/completions', CHAT))).status).toBe(200);
  });
});
