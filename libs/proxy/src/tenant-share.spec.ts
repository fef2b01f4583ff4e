import { type Admission, type AdmissionRequest, type TenantCharge } from '@smg/plugin-api';
import {
  ask,
  Bench,
  chunk,
  json,
  post,
  RawClient,
  RawEngine,
  SSE_HEAD,
  waitFor,
} from '../test/test-support';

const chat = (extra: object = {}, headers = '', connection = 'close') =>
  post(
    '/v1/chat/completions',
    JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'four' }], ...extra }),
    headers,
    connection,
  );
const USAGE = '{"usage":{"prompt_tokens":2,"total_tokens":9}}';

/** Allows everything, or refuses it, and keeps a diary. */
class Diary implements Admission {
  readonly charges: TenantCharge[] = [];
  readonly asked: { tenant: string | undefined; peer: string | undefined; header: string | undefined }[] = [];
  /** `+n` settled, `refund` given back. */
  readonly ends: string[] = [];
  refusal: { message: string; retryAfterSecs: number | undefined } | undefined;

  tenantOf(request: AdmissionRequest) {
    this.asked.push({
      tenant: request.authenticatedTenant,
      peer: request.peer,
      header: request.header('x-tenant'),
    });
    return 't';
  }

  charge(request: TenantCharge) {
    this.charges.push(request);
    if (this.refusal !== undefined) return { allowed: false as const, ...this.refusal };
    return {
      allowed: true as const,
      settle: (tokens: number) => this.ends.push(`+${tokens}`),
      refund: () => this.ends.push('refund'),
    };
  }
} // prettier-ignore

describe("a tenant's share", () => {
  let bench: Bench;
  let diary: Diary;
  const engines: RawEngine[] = [];
  const engine = async (...args: Parameters<typeof RawEngine.open>) => {
    const opened = await RawEngine.open(...args);
    engines.push(opened);
    return opened;
  };
  const open = async (options: Parameters<typeof Bench.open>[0] = {}) => {
    diary = new Diary();
    bench = await Bench.open({ ...options, admission: diary });
  };
  const over = () => waitFor(() => bench.records.length === bench.started);

  afterEach(async () => {
    await over();
    expect(bench.faults).toEqual([]);
    await bench.close();
    for (const opened of engines.splice(0)) await opened.close();
  });

  it('is taken with the key, the peer, the headers and the canonical model', async () => {
    await open({ keys: ['k'], aliases: { other: 'm' } });
    const e = await engine((socket) => socket.write(json(200, USAGE)));
    bench.add(e.url);
    const headers = 'Authorization: Bearer k\r\nX-Tenant: a\r\n';
    await ask(bench, chat({ model: 'other', max_tokens: 10, n: 2 }, headers));
    await over();
    expect(diary.asked).toEqual([{ tenant: 'auth:k', peer: '127.0.0.1', header: 'a' }]);
    expect(diary.charges).toEqual([{ tenant: 't', model: 'm', tokens: 21 }]);
    expect(diary.ends).toEqual(['+9']);
  });

  it('is refused before a worker is chosen, in the usual envelope', async () => {
    await open();
    const e = await engine((socket) => socket.write(json(200, USAGE)));
    bench.add(e.url);
    diary.refusal = { message: 'enough', retryAfterSecs: 7 };
    const refused = await ask(bench, chat());
    expect(refused.status).toBe(429);
    expect(refused.head).toMatch(/retry-after: 7\r\n/i);
    expect(refused.head).toMatch(/x-smg-error-code: tenant_rate_limit_exceeded\r\n/i);
    expect(refused.head).not.toMatch(/routed-worker/i);
    expect(JSON.parse(refused.body)).toEqual({
      error: {
        type: 'Too Many Requests',
        code: 'tenant_rate_limit_exceeded',
        message: 'enough',
        param: null,
      },
    });
    diary.refusal = { message: 'never', retryAfterSecs: undefined };
    const never = await ask(bench, chat());
    expect(never.status).toBe(429);
    expect(never.head).not.toMatch(/retry-after/i);
    expect(e.seen).toEqual([]);
    expect(diary.ends).toEqual([]);
  });

  it('is not asked of requests that are refused anyway, nor of information routes', async () => {
    await open({ keys: ['k'] });
    const e = await engine((socket) => socket.write(json(200, '{}')));
    bench.add(e.url);
    const key = 'Authorization: Bearer k\r\n';
    expect((await ask(bench, chat())).status).toBe(401);
    expect((await ask(bench, chat({ model: 'unknown-model' }, key))).status).toBe(404);
    expect((await ask(bench, post('/v1/chat/completions', '{', key))).status).toBe(400);
    expect((await ask(bench, 'GET /get_model_info HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')).status).toBe(200);
    const client = new RawClient(bench.port);
    client.send(`POST /generate HTTP/1.1\r\nHost: h\r\n${key}Content-Length: 100\r\n\r\nhalf`);
    await waitFor(() => bench.started === 5);
    client.socket.destroy();
    await over();
    expect(diary.charges).toEqual([]);
  }); // prettier-ignore

  it('is given back when no engine answered, and taken once for all attempts', async () => {
    await open();
    const e = await engine((socket) => socket.destroy());
    bench.add(e.url);
    expect((await ask(bench, chat())).status).toBe(502);
    await over();
    expect(e.seen.length).toBeGreaterThan(1);
    expect(diary.charges).toHaveLength(1);
    expect(diary.ends).toEqual(['refund']);
  });

  it('is given back when nobody can be chosen', async () => {
    await open({ select: () => ({ kind: 'no_candidates', cause: 'unavailable' }) });
    bench.add('http://127.0.0.1:9');
    expect((await ask(bench, chat())).status).toBe(503);
    await over();
    expect(diary.ends).toEqual(['refund']);
  });

  it.each([
    ['an error of the engine generates nothing', 400, '{"error":1}', ['+0']],
    ['an error after every attempt', 503, '{"error":1}', ['+0']],
    ['an answer without figures costs the estimate', 200, '{}', []],
    ['an answer with figures', 200, USAGE, ['+9']],
  ])('%s', async (_, status, body, ends) => {
    await open();
    const e = await engine((socket) => socket.write(json(status, body)));
    bench.add(e.url);
    expect((await ask(bench, chat())).status).toBe(status);
    await over();
    expect(diary.charges).toHaveLength(1);
    expect(diary.ends).toEqual(ends);
  });

  it('a retry that succeeds settles with its own figures', async () => {
    await open();
    const e = await engine((socket, _, n) =>
      socket.write(n === 1 ? json(500, '{"usage":{"total_tokens":1}}') : json(200, USAGE)),
    );
    bench.add(e.url);
    expect((await ask(bench, chat())).status).toBe(200);
    await over();
    expect(diary.ends).toEqual(['+9']);
  });

  it('a compressed answer costs the estimate', async () => {
    await open();
    const e = await engine((socket) => socket.write(json(200, USAGE, 'Content-Encoding: br\r\n')));
    bench.add(e.url);
    await ask(bench, chat());
    await over();
    expect(diary.ends).toEqual([]);
  });

  it('a stream settles with its last report, and holds nothing back for it', async () => {
    await open();
    const e = await engine((socket) => {
      socket.write(SSE_HEAD);
      socket.write(chunk('data: {"choices":[{"delta":{"content":"a"}}],"usage":null}\n\n'));
      socket.write(chunk('data: {"choices":[],"usage":{"prompt_tokens":3,"total_'));
      socket.write(chunk('tokens":33}}\n\ndata: [DONE]\n\n'));
      socket.write('0\r\n\r\n');
    });
    bench.add(e.url);
    const answer = await ask(bench, chat({ stream: true }));
    expect(answer.body).toContain('[DONE]');
    await over();
    expect(diary.ends).toEqual(['+33']);
  });

  it('a stream of several answers to /generate costs the estimate', async () => {
    await open();
    const e = await engine((socket) => {
      socket.write(SSE_HEAD);
      socket.write(chunk('data: {"index":0,"meta_info":{"prompt_tokens":1,"completion_tokens":1}}\n\n'));
      socket.write('0\r\n\r\n');
    });
    bench.add(e.url);
    const body = '{"model":"m","text":["a","b"],"stream":true,"sampling_params":{"max_new_tokens":9}}';
    await ask(bench, post('/generate', body));
    await over();
    expect(diary.ends).toEqual([]);
  }); // prettier-ignore

  it.each([
    ['and no limit costs a token for each event', {}, ['+4']],
    ['and a limit costs the estimate', { max_tokens: 9 }, []],
  ])('a stream without a report %s', async (_, limit, ends) => {
    await open();
    const e = await engine((socket) => {
      socket.write(SSE_HEAD);
      for (const text of ['a', 'b']) {
        socket.write(chunk(`data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`));
      }
      socket.write(chunk('data: [DONE]\n\n'));
      socket.write('0\r\n\r\n');
    });
    bench.add(e.url);
    await ask(bench, chat({ stream: true, ...limit }));
    await over();
    expect(diary.ends).toEqual(ends);
  });

  describe('of a client that leaves', () => {
    it('stays taken once an engine has the request', async () => {
      await open();
      const e = await engine(() => undefined);
      bench.add(e.url);
      const client = new RawClient(bench.port);
      client.send(chat({}, '', 'keep-alive'));
      await waitFor(() => e.seen.length === 1);
      client.socket.destroy();
      await over();
      expect(diary.charges).toHaveLength(1);
      expect(diary.ends).toEqual([]);
    });

    it('is given back while none has', async () => {
      await open({
        select: () => ({ kind: 'no_candidates', cause: 'unavailable' }),
        options: {
          retry: { maxAttempts: 5, initialBackoffMs: 5_000, maxBackoffMs: 5_000, backoffMultiplier: 1, jitterFactor: 0 },
        },
      });
      bench.add('http://127.0.0.1:9');
      const client = new RawClient(bench.port);
      client.send(chat({}, '', 'keep-alive'));
      await waitFor(() => diary.charges.length === 1);
      client.socket.destroy();
      await over();
      expect(diary.ends).toEqual(['refund']);
    }); // prettier-ignore

    it('stays taken before a message has told what it generated', async () => {
      await open();
      const e = await engine((socket) => {
        socket.write(SSE_HEAD);
        const start = { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } };
        socket.write(chunk(`event: message_start\ndata: ${JSON.stringify(start)}\n\n`));
      });
      bench.add(e.url);
      const client = new RawClient(bench.port);
      const body = { model: 'm', max_tokens: 600, stream: true, messages: [{ role: 'user', content: 'a' }] };
      client.send(post('/v1/messages', JSON.stringify(body), '', 'keep-alive'));
      await client.until((text) => text.includes('message_start'));
      client.socket.destroy();
      await over();
      expect(diary.ends).toEqual([]);
    }); // prettier-ignore

    it('settles with what a stream has reported until then', async () => {
      await open();
      const e = await engine((socket) => {
        socket.write(SSE_HEAD);
        socket.write(chunk('data: {"meta_info":{"prompt_tokens":3,"completion_tokens":4}}\n\n'));
      });
      bench.add(e.url);
      const client = new RawClient(bench.port);
      client.send(post('/generate', '{"model":"m","text":"a","stream":true}', '', 'keep-alive'));
      await client.until((text) => text.includes('meta_info'));
      client.socket.destroy();
      await over();
      expect(diary.ends).toEqual(['+7']);
    });
  });
});
