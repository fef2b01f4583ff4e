import { FanoutError, RL, RlError } from '../src';
import { FakeGateway, failureOf, outcomeOf, reportOf, rowOf } from './support/fake-gateway';
import { rejection } from './support/rejection';

const fake = new FakeGateway();
let rl: RL;
beforeAll(async () => {
  await fake.start();
  rl = new RL({ baseUrl: fake.url });
});
afterAll(() => fake.stop());

const selector = 'engine=sglang';

describe('a worker', () => {
  it('has every field', async () => {
    fake.answer(rowOf());
    expect(await rl.worker('w1')).toEqual({
      id: 'w1',
      url: 'http://a:1@0',
      baseUrl: 'http://a:1',
      engine: 'sglang',
      engineVersion: '0.5',
      modelId: 'm',
      workerType: 'regular',
      connectionMode: 'http',
      tpSize: 2,
      dpSize: null,
      ppSize: null,
      dpRanks: 1,
      role: null,
      health: 'ready',
      weightVersion: '9',
      versionSource: 'api',
      control: 'paused',
      labels: { tp_size: '2' },
      capabilities: {
        source: 'static',
        pauseModes: ['abort'],
        updateFrom: ['disk'],
        abort: true,
        flushCache: true,
        sleepWake: true,
        reportsWeightVersion: true,
      },
    });
  });

  it('of an older gateway has defaults, of a newer one nothing more', async () => {
    fake.answer({ id: 'w1', url: 'http://a:1', a_later_field: 1 });
    const worker = await rl.worker('w1');
    expect(worker).toMatchObject({ control: 'active', weightVersion: null, versionSource: null });
    expect(worker).toMatchObject({ baseUrl: 'http://a:1', labels: {}, tpSize: null, dpRanks: 1 });
    expect(worker.capabilities).toMatchObject({ pauseModes: [], abort: false });
    expect(Object.keys(worker)).toHaveLength(19);
  });
});

describe('a call', () => {
  it('returns what the engine answered, also when it refused', async () => {
    fake.replies = [{ status: 500, body: outcomeOf('w1', { status: 500, body: 'boom' }) }];
    expect(await rl.call('w1', 'x')).toEqual({
      workerId: 'w1',
      url: 'http://w1:1',
      status: 500,
      latencyMs: 3,
      body: 'boom',
      bodyTruncated: false,
    });
  });

  it('tells when the body was cut', async () => {
    fake.answer(outcomeOf('w1', { body: 'aaa', body_truncated: true }));
    expect(await rl.call('w1', 'x')).toMatchObject({ body: 'aaa', bodyTruncated: true });
  });

  it('throws what the gateway refused', async () => {
    const payload = { error: 'worker_not_found', message: 'worker `w9` not found', id: 'w9' };
    fake.replies = [{ status: 404, body: payload }];
    const error = await rejection(rl.call('w9', 'x'));
    expect(error).toBeInstanceOf(RlError);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(FanoutError);
    expect({ ...error }).toEqual({
      name: 'RlError',
      status: 404,
      code: 'worker_not_found',
      payload,
    });
    expect(error.message).toBe('worker_not_found (HTTP 404): worker `w9` not found');
    expect(error.stack).toContain('RlError');
  });

  it('throws an outcome that is an error as well', async () => {
    fake.replies = [{ status: 502, body: { ...outcomeOf(), error: 'upstream_unreachable' } }];
    expect(await rejection(rl.call('w1', 'x'))).toMatchObject({ code: 'upstream_unreachable' });
  });

  it.each<[string, object, number, string]>([
    ['an empty 404', { status: 404, body: '' }, 404, 'http_error (HTTP 404)'],
    ['text', { status: 401, body: 'Missing\n' }, 401, 'http_error (HTTP 401): Missing'],
    [
      'long text',
      { status: 502, body: 'x'.repeat(999) },
      502,
      `http_error (HTTP 502): ${'x'.repeat(200)}…`,
    ],
    ['a list', { status: 500, body: [1] }, 500, 'http_error (HTTP 500)'],
    ['no code', { status: 500, body: { message: 'm' } }, 500, 'unknown (HTTP 500): m'],
    [
      'the shape of the inference routes',
      { status: 404, body: { error: { code: 'unknown_url', message: 'no such URL' } } },
      404,
      'unknown_url (HTTP 404): no such URL',
    ],
    [
      'a success of something else',
      { body: { hello: 1 } },
      200,
      'unexpected_response (HTTP 200): not an answer of the RL API',
    ],
    [
      'a success in HTML',
      { body: '<html>' },
      200,
      'unexpected_response (HTTP 200): not an answer of the RL API',
    ],
    [
      'no content',
      { raw: 'HTTP/1.1 204 No Content\r\n\r\n' },
      204,
      'unexpected_response (HTTP 204): not an answer of the RL API',
    ],
  ])('odd answers: %s', async (_, reply, status, message) => {
    fake.replies = [reply];
    for (const call of [
      rl.call('w1', 'x'),
      rl.fanout('x', {}, { selector }),
      rl.workers(),
      rl.worker('w1'),
      rl.setFleetState('active', { selector }),
    ]) {
      const error = await rejection(call);
      expect(error).toBeInstanceOf(RlError);
      expect({ status: error.status, message: error.message }).toEqual({ status, message });
    }
  });

  it.each([{ workers: 7 }, { workers: [7] }, []])('rows that are none: %j', async (body) => {
    fake.answer(body);
    expect(await rejection(rl.workers())).toMatchObject({ code: 'unexpected_response' });
  });
});

describe('a fan-out', () => {
  it('returns the report when everybody did it', async () => {
    fake.answer(reportOf(['w1', 'w2']));
    const result = await rl.fanout('x', {}, { selector });
    expect(result).toMatchObject({ total: 2, succeeded: 2, failed: [] });
    expect(Object.keys(result.results)).toEqual(['w1', 'w2']);
    expect(result.results['w1']).toMatchObject({ workerId: 'w1', body: { success: true } });
  });

  const partial = {
    ...reportOf(
      ['w1'],
      [
        failureOf('w2', { error: 'upstream_error', message: 'HTTP 500', status: 500 }),
        failureOf('w3', { error: 'unsupported_connection_mode', connection_mode: 'grpc' }),
      ],
    ),
  };

  it('throws when somebody failed, and tells who', async () => {
    fake.replies = [{ status: 207, body: partial }];
    const error = await rejection(rl.fanout('x', {}, { selector }));
    expect(error).toBeInstanceOf(FanoutError);
    expect(error).toBeInstanceOf(RlError);
    expect(error).toMatchObject({
      name: 'FanoutError',
      status: 207,
      code: 'fanout_partial',
      message: 'fanout_partial (HTTP 207): 2 of 3 engines failed: w2, w3',
    });
    expect(error.result.failed).toEqual([
      {
        workerId: 'w2',
        url: 'http://w2:1',
        error: 'upstream_error',
        message: 'HTTP 500',
        status: 500,
        connectionMode: null,
      },
      {
        workerId: 'w3',
        url: 'http://w3:1',
        error: 'unsupported_connection_mode',
        message: 'gone',
        status: null,
        connectionMode: 'grpc',
      },
    ]);
    expect(error.result.results.w1.status).toBe(200);
  });

  it('returns the same with allowPartial', async () => {
    fake.replies = [{ status: 207, body: partial }];
    const result = await rl.fanout('x', {}, { selector, allowPartial: true });
    expect(result).toMatchObject({ total: 3, succeeded: 1 });
    expect(result.failed).toHaveLength(2);
  });

  it('goes by the failures, not by the status', async () => {
    fake.replies = [{ status: 200, body: partial }];
    expect(await rejection(rl.fanout('x', {}, { selector }))).toMatchObject({ status: 200 });
    fake.replies = [{ status: 207, body: reportOf(['w1']) }];
    expect(await rl.fanout('x', {}, { selector })).toMatchObject({ succeeded: 1 });
  });

  it('names ten engines at most', async () => {
    const many = Array.from({ length: 12 }, (_, index) => failureOf(`w${index}`));
    fake.replies = [{ status: 207, body: reportOf([], many) }];
    const { message, result } = await rejection(rl.fanout('x', {}, { selector }));
    expect(message).toMatch(/12 of 12 engines failed: w0, .*, w9 and 2 more$/);
    expect(result.failed).toHaveLength(12);
  });

  it('refused as a whole is no FanoutError', async () => {
    fake.replies = [{ status: 400, body: { error: 'no_workers_match', selector } }];
    const error = await rejection(rl.fanout('x', {}, { selector, allowPartial: true }));
    expect(error).not.toBeInstanceOf(FanoutError);
    expect(error).toMatchObject({ code: 'no_workers_match', payload: { selector } });
  });

  it.each([
    { results: [] },
    { results: { w1: 7 } },
    { results: {}, failed: [7] },
    { results: {}, failed: {} },
  ])('reports that are none: %j', async (body) => {
    fake.answer(body);
    expect(await rejection(rl.fanout('x', {}, { selector }))).toMatchObject({
      code: 'unexpected_response',
    });
  });

  it('keeps ids that mean something to JavaScript', async () => {
    fake.replies = [
      {
        body: `{"results":{"__proto__":${JSON.stringify(outcomeOf('p'))}},"failed":[],"total":1,"succeeded":1}`,
      },
    ];
    const { results } = await rl.fanout('x', {}, { selector });
    expect(Object.values(results).map(({ workerId }) => workerId)).toEqual(['p']);
    expect(Object.getPrototypeOf(results)).toBe(Object.prototype);
  });
});

describe('integers above 2^53', () => {
  const body =
    '{"worker_id":"w1","url":"u","status":200,"latency_ms":3,"body":{"seed":18446744073709551617}}';

  it('are rounded, as JSON.parse does', async () => {
    fake.replies = [{ body }];
    expect((await rl.call('w1', 'x')).body).toEqual({ seed: Number(2n ** 64n + 1n) });
  });

  it('stay with a parser of your own', async () => {
    fake.replies = [{ body }];
    const parseJson = (text: string): unknown =>
      JSON.parse(text.replaceAll(/\d{16,}/g, '"$&n"'), (_, value: unknown) =>
        typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
      );
    const exact = new RL({ baseUrl: fake.url, parseJson });
    expect(await exact.call('w1', 'x')).toMatchObject({
      status: 200,
      body: { seed: 2n ** 64n + 1n },
    });
  });

  it('a parser that gives up leaves the text', async () => {
    fake.replies = [{ status: 500, body: '{"error":"e"}' }];
    const parseJson = (): never => {
      throw new Error('no');
    };
    const error = await rejection(new RL({ baseUrl: fake.url, parseJson }).workers());
    expect(error).toMatchObject({ code: 'http_error', payload: '{"error":"e"}' });
  });
});
