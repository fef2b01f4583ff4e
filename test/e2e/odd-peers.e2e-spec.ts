import { MockEngine, MockTcpEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat, chatEvent, chatStream, dataOf, DONE } from './support/bodies';
import { describeLanes } from './support/lanes';
import { rawPost, sendRaw, statusesIn, statusOf } from './support/raw-client';

const CHAT = '/v1/chat/completions';

describeLanes('odd peers', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      {
        requests: { hotLane },
        health: { checksDisabled: true },
        breaker: { disabled: true },
        retry: { maxAttempts: 1 },
        workers: { urls: [engine.url], modelAliases: [{ alias: 'nick', canonical: 'mock-model' }] },
      },
      { ready: 1 },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  afterEach(() => {
    engine.behaveNormally();
  });
  const post = (body: unknown) => send(`${gateway.url}${CHAT}`, { body });
  const seen = () => engine.requestsTo(CHAT).at(-1);

  it.each(['reset', 'fin'] as const)(
    '[R06] a stream of announced length cut by %s is aborted, with nothing of ours inside',
    async (how) => {
      engine.behave({
        route: CHAT,
        chunks: [chatEvent('a'), chatEvent('b'), DONE],
        framing: 'length',
        cut: { how, at: 100 },
      });
      const answer = await post(chatStream());
      expect(answer.status).toBe(200);
      expect(answer.aborted).toBe(true);
      expect(answer.body.length).toBeLessThanOrEqual(100);
    },
  );

  it('[R06] a stream that is no event stream, cut, is aborted', async () => {
    engine.behave({
      route: CHAT,
      chunks: ['{"a":1}\n', '{"a":2}\n'],
      headers: { 'content-type': 'application/x-ndjson' },
      cut: { how: 'reset', at: 10 },
    });
    const answer = await post(chatStream());
    expect(answer.aborted).toBe(true);
    expect(answer.text).toBe('{"a":1}\n{"');
  });

  it('[R06] a buffered answer too large to hold, cut, is aborted', async () => {
    engine.behave({
      route: CHAT,
      chunks: Array<Buffer>(48).fill(Buffer.alloc(65_536, 'x')),
      headers: { 'content-type': 'application/json' },
      cut: { how: 'reset', at: 2_500_000 },
    });
    const answer = await post(chat());
    expect(answer.aborted).toBe(true);
  });

  it.each([1, 5, 12, 20, 30])(
    '[R06] a JSON answer that ends by closing, cut after %i bytes, is an error and no shorter answer',
    async (at) => {
      const body = JSON.stringify({ choices: [{ text: 'a}' }], usage: { n: 1 } });
      engine.behave({ route: CHAT, body, framing: 'close', cut: { how: 'fin', at } });
      const answer = await post(chat());
      expect(answer.status).toBe(500);
      expect(answer.headers['x-smg-error-code']).toBe('read_response_body_failed');
      engine.behaveNormally();
      engine.behave({ route: CHAT, body, framing: 'close' });
      expect((await post(chat())).text).toBe(body);
    },
  );

  describe.each([
    ['streamed', true, 60],
    ['streamed, large', true, 200_000],
    ['buffered, too large to hold', false, 3_000_000],
  ])('a JSON answer that ends by closing, %s', (_what, stream, length) => {
    const body = JSON.stringify({ text: 'x'.repeat(length), end: [1] });
    const request = stream ? chatStream() : chat();

    it('[R06] cut, is aborted', async () => {
      engine.behave({
        route: CHAT,
        body,
        framing: 'close',
        cut: { how: 'fin', at: body.length - 8 },
      });
      expect((await post(request)).aborted).toBe(true);
    });

    it('whole, passes', async () => {
      engine.behave({ route: CHAT, body, framing: 'close' });
      const answer = await post(request);
      expect(answer.aborted).toBe(false);
      expect(answer.text).toBe(body);
    });
  });

  it('an HTTP/1.0 client gets a whole answer that ends by closing', async () => {
    const request = rawPost(CHAT, JSON.stringify(chatStream())).replace('HTTP/1.1', 'HTTP/1.0');
    const answer = await sendRaw(gateway.port, request);
    expect(statusOf(answer.text)).toBe(200);
    expect(answer.text).not.toMatch(/transfer-encoding/i);
    expect(answer.end).toBe('fin');
    expect(answer.text.endsWith(DONE)).toBe(true);
  });

  it('pipelined requests are answered in order', async () => {
    const requests = [1, 2, 3].map((at) =>
      rawPost(CHAT, JSON.stringify(chat()), [
        `X-Request-Id: pipelined-${at}`,
        ...(at === 3 ? ['Connection: close'] : []),
      ]),
    );
    const answer = await sendRaw(gateway.port, requests.join(''));
    expect(statusesIn(answer.text)).toEqual([200, 200, 200]);
    expect([...answer.text.matchAll(/pipelined-(\d)/g)].map(([, at]) => at)).toEqual([
      '1',
      '2',
      '3',
    ]);
  });

  it('a body nested 100,000 deep passes, or is refused, and does no harm', async () => {
    const deep = `{"model":"nick","messages":[{}],"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    engine.behave({ route: CHAT, body: { ok: true } });
    const answer = await post(deep);
    expect([200, 400]).toContain(answer.status);
    if (answer.status === 200) {
      expect(seen()?.body.toString()).toBe(deep.replace('"nick"', '"mock-model"'));
    }
    expect((await post(chat())).status).toBe(200);
  });

  it('[#81] bytes that are no UTF-8 pass unchanged, an alias beside them replaced', async () => {
    const text = Buffer.from([0x22, 0xe4, 0xff, 0x22]);
    const around = (model: string) =>
      Buffer.concat([
        Buffer.from('{"x":'),
        text,
        Buffer.from(`,"messages":[{}],"model":"${model}"}`),
      ]);
    engine.behave({ route: CHAT, body: { ok: true } });
    expect((await post(around('mock-model'))).status).toBe(200);
    expect(seen()?.body.equals(around('mock-model'))).toBe(true);
    expect((await post(around('nick'))).status).toBe(200);
    expect(seen()?.body.equals(around('mock-model'))).toBe(true);
  });

  it('keys of the prototype in a body change nothing', async () => {
    const body =
      '{"__proto__":{"stream":true,"model":"x"},"constructor":1,"messages":[{}],"model":"mock-model"}';
    engine.behave({ route: CHAT, body: { ok: true } });
    const answer = await post(body);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(seen()?.body.toString()).toBe(body);
  });

  it('the query of a request travels with it', async () => {
    await send(`${gateway.url}${CHAT}?a=1&b=%2F%20`, { body: chat() });
    expect(seen()?.path).toBe(`${CHAT}?a=1&b=%2F%20`);
  });
});

describe('an engine that says more than it was asked', () => {
  const GOOD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
  const POISON =
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"bad": 1}';

  it.each<[string, string[]]>([
    ['in one write', [GOOD + POISON]],
    ['in two writes', [GOOD, POISON]],
    ['as garbage', [`${GOOD}garbage`]],
  ])(
    '[R22] an unsolicited second answer, %s, never answers another request',
    async (_what, bytes) => {
      const engine = await new MockTcpEngine({ bytes, then: 'keep' }).start();
      const gateway = await startGateway({ health: { checksDisabled: true } });
      try {
        await send(`${gateway.url}/workers`, {
          body: { url: engine.url, models: [{ id: 'm' }], runtime_type: 'sglang' },
        });
        await until('ready', async () => (await send(`${gateway.url}/readiness`)).status === 200);
        const texts: string[] = [];
        for (let at = 0; at < 30; at += 1) {
          const answer = await send(`${gateway.url}${CHAT}`, { body: chat({ model: 'm' }) });
          texts.push(`${answer.status} ${answer.text}`);
          // Time for what is unsolicited to arrive while the connection is idle.
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        expect(texts.filter((text) => text.includes('bad'))).toEqual([]);
        expect(texts.filter((text) => text === '200 {}').length).toBeGreaterThan(25);
      } finally {
        await gateway.close();
        await engine.stop();
      }
    },
  );
});

describe('many streams', () => {
  it('[R01] [#69] 100 streams of multi-byte text at once stay apart and whole', async () => {
    const engine = new MockEngine({ tokens: 30 });
    await engine.start();
    const gateway = await startGateway({ health: { checksDisabled: true } }, { engines: [engine] });
    try {
      const texts = Array.from({ length: 100 }, (_, at) => `汉字🙂${at}`);
      const answers = await Promise.all(
        texts.map((text, at) => {
          const id = `multi-byte-${at}`;
          const whole = Buffer.from(chatEvent(text) + DONE);
          const chunks = Array.from(whole, (byte) => Buffer.from([byte]));
          engine.behave({
            route: CHAT,
            times: 1,
            when: (request) => request.header('x-request-id') === id,
            chunks,
          });
          return send(`${gateway.url}${CHAT}`, {
            body: chatStream(),
            headers: { 'x-request-id': id },
          });
        }),
      );
      answers.forEach((answer, at) => {
        const event = JSON.parse(dataOf(answer.text)[0] ?? '') as {
          choices: { delta: { content: string } }[];
        };
        expect(event.choices[0]?.delta.content).toBe(texts[at]);
      });
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
