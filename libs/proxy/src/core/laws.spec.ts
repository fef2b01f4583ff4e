import fc from 'fast-check';
import { backoffMs } from './backoff';
import { ClientHead } from './client-head';
import { setTopLevelFields } from './json-splice';
import { readRequestFacts } from './request-facts';
import { RequestIds } from './request-id';
import { parseRoutingKey, parseRoutingTokens } from './routing-hints';
import { bodyTokensOf, routingTextOf } from './routing-text';
import { StreamWatch, truncationEvent } from './stream-watch';

describe('ClientHead', () => {
  it.each([
    [['Host', 'a', 'host', 'b'], 'more than one Host'],
    [['Host', 'a, b'], 'Host is no host'],
    [['Host', 'a b'], 'Host is no host'],
    [['Content-Length', '1', 'content-length', '1'], 'more than one Content-Length'],
    [['Content-Length', '1', 'Transfer-Encoding', 'chunked'], 'Transfer-Encoding beside'],
    [['Transfer-Encoding', 'gzip, chunked'], 'other than chunked'],
    [['Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'], 'more than one Transfer'],
    [['Content-Length', '+1'], 'no number'],
  ])('finds the defect of %j', (raw, defect) => {
    expect(new ClientHead(raw).defect).toContain(defect);
  });

  it('reads what routing needs and joins repeats', () => {
    const head = new ClientHead([
      'X-A',
      '1',
      'x-a',
      '2',
      'Expect',
      '100-Continue',
      'Content-Length',
      '5',
    ]);
    expect(head.header('x-a')).toBe('1, 2');
    expect(head).toMatchObject({
      expectsContinue: true,
      contentLength: 5,
      defect: undefined,
      hasBody: true,
    });
  });
});

describe('RequestIds', () => {
  const ids = new RequestIds(['x-request-id', 'x-correlation-id'], (size) =>
    Uint8Array.from({ length: size }, (_, i) => i % 256),
  );

  it('prefers the first configured header', () => {
    expect(ids.of(new ClientHead(['X-Correlation-Id', 'c']), 'p-')).toBe('c');
    expect(ids.of(new ClientHead(['X-Correlation-Id', 'c', 'X-Request-Id', 'r']), 'p-')).toBe('r');
  });

  it.each([['a\x01b'], ['é'], ['x'.repeat(257)]])('makes one for an unusable %j', (value) => {
    expect(ids.of(new ClientHead(['x-request-id', value]), 'p-')).toMatch(/^p-[0-9A-Za-z]{24}$/);
  });

  it('never uses a byte that would favour some letters', () => {
    const high = new RequestIds([], (size) =>
      new Uint8Array(size).map((_, i) => (i % 2 ? 255 : 61)),
    );
    expect(high.make('')).toBe('z'.repeat(24));
  });
});

describe('readRequestFacts', () => {
  const read = (path: string, body: unknown) =>
    readRequestFacts(path, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

  it.each([
    ['/v1/chat/completions', { model: 'm', messages: [{}] }],
    ['/v1/completions', { model: 'm', prompt: [1, 2] }],
    ['/v1/messages', { model: 'm', messages: [{}] }],
    ['/v1/embeddings', { model: 'm', input: 'x' }],
    ['/v1/responses', { model: 'm', input: [] }],
    ['/v1/rerank', { query: 'q', documents: [], model: 7 }],
    ['/generate', {}],
    ['/generate', { text: ['a', 'b'], stream: null }],
  ])('%s takes %j', (path, body) => {
    expect(read(path, body)).toMatchObject({ ok: true, facts: { wantsStream: false } });
  });

  it.each([
    ['/generate', ''],
    ['/generate', '{bad'],
    ['/generate', '[]'],
    ['/generate', { model: 1 }],
    ['/v1/chat/completions', { messages: [{}] }],
    ['/v1/chat/completions', { model: 'm', messages: [] }],
    ['/v1/chat/completions', { model: 'm', messages: 'x' }],
    ['/v1/completions', { model: 'm', prompt: null }],
    ['/rerank', { model: 'm', query: 'q' }],
  ])('%s refuses %j', (path, body) => {
    expect(read(path, body).ok).toBe(false);
  });

  it('never quotes the body in its message', () => {
    const result = read('/generate', '{"secret": sesame}');
    expect(JSON.stringify(result)).not.toContain('sesame');
  });
});

describe('setTopLevelFields', () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const key = fc.oneof(fc.constantFrom('model', 'data_parallel_rank', 'stream'), fc.string());

  it('agrees with JSON.parse on any object', () => {
    fc.assert(
      fc.property(
        fc.dictionary(key, value),
        fc.string(),
        fc.nat(7),
        fc.constantFrom(0, 2),
        (object, model, rank, indent) => {
          const body = Buffer.from(JSON.stringify(object, null, indent));
          const out = setTopLevelFields(
            body,
            new Map<string, string | number>([
              ['model', model],
              ['data_parallel_rank', rank],
            ]),
          );
          expect(JSON.parse(out.toString())).toEqual({
            ...JSON.parse(body.toString()),
            model,
            data_parallel_rank: rank,
          });
        },
      ),
    );
  });

  it('keeps every other byte, big integers and nested namesakes included', () => {
    const body = Buffer.from(
      '{ "seed":9007199254740993, "x":{"model":"a"} ,"\\u006dodel" : "a" , "model":"b"}',
    );
    const out = setTopLevelFields(body, new Map([['model', 'C']]));
    expect(out.toString()).toBe(
      '{ "seed":9007199254740993, "x":{"model":"a"} ,"\\u006dodel" : "C" , "model":"C"}',
    );
  });

  it('adds to an empty object', () => {
    expect(setTopLevelFields(Buffer.from('{ }'), new Map([['a', 1]])).toString()).toBe('{"a":1 }');
  });
});

describe('routing inputs', () => {
  it('joins texts with one space', () => {
    const messages = [
      { role: 'system', content: 'be' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }],
      },
      { role: 'assistant', content: 'c', reasoning_content: 'd' },
    ];
    expect(routingTextOf('chat', { messages })).toBe('be a b c d');
    expect(routingTextOf('generate', { input_ids: [1, 2] })).toBe('1 2');
    expect(routingTextOf('messages', { system: 's', messages })).toBe('s be a b c d');
    expect(routingTextOf('generate', {})).toBeUndefined();
    expect(bodyTokensOf({ input_ids: [[3, 4], [5]] })).toEqual([3, 4]);
  });

  it.each([['1,x'], ['-5,3'], ['1, 2'], [''], ['4294967296'], [Array(513).fill('1').join(',')]])(
    'ignores the token list %j',
    (text) => {
      expect(parseRoutingTokens(text)).toBeUndefined();
    },
  );

  it('takes tokens and keys within their caps', () => {
    expect(parseRoutingTokens('1,4294967295')).toEqual([1, 4294967295]);
    expect(parseRoutingKey('k'.repeat(128))).toHaveLength(128);
    expect(parseRoutingKey('k'.repeat(129))).toBeUndefined();
    expect(parseRoutingKey(Buffer.from('ключ').toString('latin1'))).toBe('ключ');
    expect(parseRoutingKey('\xff')).toBeUndefined();
  });
});

describe('backoffMs', () => {
  const settings = {
    initialBackoffMs: 50,
    maxBackoffMs: 200,
    backoffMultiplier: 2,
    jitterFactor: 0.2,
  };
  it('grows to the cap and jitters around it', () => {
    expect([2, 3, 4, 5, 6].map((k) => backoffMs(settings, k, 0.5))).toEqual([
      50, 100, 200, 200, 200,
    ]);
    expect(backoffMs(settings, 2, 0)).toBe(40);
    expect(backoffMs(settings, 2, 0.999)).toBeLessThanOrEqual(60);
  });
});

describe('StreamWatch', () => {
  const feed = (watch: StreamWatch, bytes: Buffer, size: number) => {
    for (let at = 0; at < bytes.length; at += size) watch.see(bytes.subarray(at, at + size));
    return watch;
  };

  it.each([
    ['data: {"a":1}\n\ndata: [DONE]\n\n', true],
    ['event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
    ['data: {"type":"response.completed","response":{}}\r\n\r\n', true],
    ['event: response.failed\ndata: {}\n\n', true],
    ['data: {"text":"[DONE]"}\n\n', false],
    ['data: {"text":"汉字🙂"}\n\n', false],
  ])('finds the terminal marker of %j at every chunk size', (text, isComplete) => {
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      expect(feed(new StreamWatch(true), bytes, size).isComplete).toBe(isComplete);
    }
  });

  it('knows whether it is inside an event', () => {
    expect(new StreamWatch(false).isInsideEvent).toBe(false);
    expect(feed(new StreamWatch(false), Buffer.from('data: x'), 3).isInsideEvent).toBe(true);
    expect(feed(new StreamWatch(false), Buffer.from('data: x\r\n'), 1).isInsideEvent).toBe(true);
    expect(feed(new StreamWatch(false), Buffer.from('data: x\r\n\r\n'), 1).isInsideEvent).toBe(
      false,
    );
    expect(feed(new StreamWatch(false), Buffer.from('data: x\n\n'), 4).isInsideEvent).toBe(false);
  });

  it.each([
    ['data: {"error":{"code":429}}\n\n', 429],
    [': ping\n\ndata: {"error": {"message":"x"}}\n\n', 500],
    ['event: error\ndata: {"error":{"code":"503"}}\n\n', 503],
    ['data: {"choices":[],"note":"error"}\n\n', 0],
    ['data: {"error":null,"choices":[]}\n\n', 0],
  ])('reads an error in first place of %j', (text, status) => {
    expect(feed(new StreamWatch(false), Buffer.from(text), 400).errorStatus).toBe(status);
  });

  it('ends a broken stream with an event that parses', () => {
    const event = truncationEvent(true, 'req-"1');
    expect(event).toMatch(/^\n\ndata: .*\n\n$/);
    expect(JSON.parse(event.slice(8)).error).toMatchObject({
      code: 'upstream_stream_truncated',
      request_id: 'req-"1',
    });
  });
});
