import { MockEngine } from '@smg/testing';
import { connect } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { AUDIO, audioForm, formHeaders, formOf, type Part } from './support/forms';
import { describeLanes } from './support/lanes';
import { sendRaw, statusOf } from './support/raw-client';
import { sample } from './support/scrape';

const PATH = '/v1/audio/transcriptions';

describeLanes('transcriptions', ({ hotLane }) => {
  let engine: MockEngine;
  let gateway: RunningGateway;
  beforeAll(async () => {
    engine = await new MockEngine({ model: 'whisper' }).start();
    gateway = await startGateway({
      requests: { hotLane, maxPayloadSize: 256 * 1024, bodyIdleTimeoutSecs: 1 },
      health: { checksDisabled: true },
    });
    await workersOf(gateway.url).added({
      url: engine.url,
      models: [{ id: 'whisper', aliases: ['mock-model'] }],
    });
  });
  afterEach(() => {
    engine.behaveNormally();
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  const post = (body: Buffer, headers: Record<string, string> = formHeaders()) =>
    send(gateway.url + PATH, { body, headers });
  const received = () => engine.counters.of(PATH);
  const idle = () =>
    until('load is zero', async () => {
      const page = await gateway.metrics();
      return sample(page, 'smg_worker_requests_active') === 0;
    });

  it('[G67] the form reaches the worker with the canonical model, and otherwise byte for byte', async () => {
    const parts = (model: string): Part[] => [
      { name: 'prompt', value: 'names: Zoë' },
      { name: 'timestamp_granularities[]', value: 'word' },
      { name: 'timestamp_granularities[]', value: 'segment' },
      { name: 'file', value: AUDIO, filename: 'a.wav', type: 'audio/wav' },
      { name: 'model', value: model },
      { name: 'some_engine_field', value: '9007199254740993' },
    ];
    const got = await post(formOf(parts(' mock-model ')));
    expect(got.status).toBe(200);
    expect(got.json).toMatchObject({ model: 'whisper', bytes: AUDIO.length, name: 'a.wav' });
    expect(got.headers['x-smg-routed-worker-id']).toBe(engine.url);
    const sent = engine.requestsTo(PATH).at(-1);
    const expected = formOf(parts('whisper'));
    expect(sent?.body.equals(expected)).toBe(true);
    expect(sent?.values('content-length')).toEqual([String(expected.length)]);
    expect(sent?.values('transfer-encoding')).toEqual([]);
    expect(sent?.values('content-type')).toEqual([formHeaders()['content-type']]);
  });

  it('with the id itself not a byte changes', async () => {
    const form = formOf(
      audioForm().map((it) => (it.name === 'model' ? { ...it, value: 'whisper' } : it)),
    );
    expect((await post(form)).status).toBe(200);
    expect(engine.requestsTo(PATH).at(-1)?.body.equals(form)).toBe(true);
  });

  it('a file without a name gets one', async () => {
    const form = formOf([
      { name: 'file', value: 'RIFF', type: 'audio/wav' },
      { name: 'model', value: 'mock-model' },
    ]);
    expect((await post(form)).json['name']).toBe('audio');
  });

  it('a stream is relayed as it arrives', async () => {
    const got = await post(formOf(audioForm({ name: 'stream', value: 'true' })));
    expect(got.headers['content-type']).toBe('text/event-stream');
    expect(got.text).toContain('transcript.text.delta');
    expect(got.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  const without = (name: string) => audioForm().filter((it) => it.name !== name);
  it.each<[string, Buffer, Record<string, string>?]>([
    ['no file', formOf(without('file'))],
    ['an empty file', formOf([...without('file'), { name: 'file', value: '', filename: 'a' }])],
    ['two files', formOf(audioForm({ name: 'file', value: 'x', filename: 'b' }))],
    ['no model', formOf(without('model'))],
    ['a blank model', formOf([...without('model'), { name: 'model', value: ' \t ' }])],
    ['two models', formOf(audioForm({ name: 'model', value: 'other' }))],
    ['a stream flag that is none', formOf(audioForm({ name: 'stream', value: 'maybe' }))],
    ['a text without end', formOf(audioForm({ name: 'prompt', value: 'x'.repeat(70_000) }))],
    [
      'too many parts',
      formOf(audioForm(...Array.from({ length: 64 }, () => ({ name: 'x', value: '' })))),
    ],
    ['no end', formOf(audioForm()).subarray(0, -6)],
    ['bytes before the form', Buffer.concat([Buffer.from('x'), formOf(audioForm())])],
    ['bytes behind the form', Buffer.concat([formOf(audioForm()), Buffer.from('--x')])],
    ['another boundary', formOf(audioForm(), 'other')],
    ['an empty body', Buffer.alloc(0)],
    ['no boundary', formOf(audioForm()), { 'content-type': 'multipart/form-data' }],
    ['JSON', Buffer.from('{}'), { 'content-type': 'application/json' }],
  ])('%s: 400 in plain text, and nothing reaches the worker', async (...[, body, headers]) => {
    const before = received();
    const got = await post(body, headers ?? formHeaders());
    expect(got.status).toBe(400);
    expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(got.text).toMatch(/^\w.{5,100}$/);
    expect(received()).toBe(before);
  });

  it('an unknown model is 404', async () => {
    const form = formOf([...without('model'), { name: 'model', value: 'nobody' }]);
    const got = await post(form);
    expect([got.status, got.json['error'].code]).toEqual([404, 'model_not_found']);
  });

  it('a form over the limit is 413, also when nobody said how long it is', async () => {
    const large = formOf(audioForm({ name: 'x', value: Buffer.alloc(300_000) }));
    expect((await post(large)).status).toBe(413);
    const head = `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: ${formHeaders()['content-type'] ?? ''}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const size = `${large.length.toString(16)}\r\n`;
    const bytes = Buffer.concat([Buffer.from(head + size), large, Buffer.from('\r\n0\r\n\r\n')]);
    expect(statusOf((await sendRaw(gateway.port, bytes)).text)).toBe(413);
  });

  it('an upload that stalls is 408', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    const form = formOf(audioForm());
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: ${formHeaders()['content-type'] ?? ''}\r\nContent-Length: ${form.length}\r\n\r\n`,
    );
    socket.write(form.subarray(0, 200));
    const text = await new Promise<string>((resolve) => {
      let all = '';
      socket.on('data', (data) => (all += data.toString('latin1')));
      socket.on('close', () => {
        resolve(all);
      });
    });
    expect(text).toContain(' 408 ');
  });

  it('is not sent twice, whatever the worker answers', async () => {
    const before = received();
    engine.behave({ route: PATH, status: 503 });
    expect((await post(formOf(audioForm()))).status).toBe(503);
    engine.behave({ route: PATH, cut: { how: 'reset', at: 'request' } });
    const got = await post(formOf(audioForm()));
    expect([got.status, got.headers['x-smg-error-code']]).toEqual([
      502,
      'call_upstream_request_error',
    ]);
    expect(got.headers['x-smg-routed-worker-id']).toBe(engine.url);
    expect(received()).toBe(before + 2);
  });

  it('[G77] the client leaves before the head, and in the middle: the worker is told', async () => {
    engine.behave({ route: PATH, delayMs: 20_000 });
    const before = received();
    const controller = new AbortController();
    const form = formOf(audioForm());
    const asking = fetch(gateway.url + PATH, {
      method: 'POST',
      body: new Uint8Array(form),
      headers: formHeaders(),
      signal: controller.signal,
    }).catch(() => undefined);
    await until(
      'the worker has it',
      () => received() === before + 1 && engine.counters.inFlight > 0,
    );
    controller.abort();
    await asking;
    await until('the worker knows', () => engine.counters.inFlight === 0, 2_000);
    engine.behaveNormally();
    engine.behave({
      route: PATH,
      chunks: ['data: {"a":1}\n\n', { data: 'data: {}\n\n', delayMs: 20_000 }],
    });
    const stream = await open(gateway.url + PATH, {
      body: formOf(audioForm({ name: 'stream', value: '1' })),
      headers: formHeaders(),
    });
    await new Promise((resolve) => stream.incoming.once('data', resolve));
    stream.leave();
    await until('the worker knows', () => engine.counters.inFlight === 0, 2_000);
    await idle();
  });

  it('a stream that breaks never looks finished, and counts against the worker', async () => {
    const own = await new MockEngine({ model: 'frail' }).start();
    const workers = workersOf(gateway.url);
    try {
      const id = await workers.added({
        url: own.url,
        models: [{ id: 'frail' }],
        health: { drain_settle_secs: 0 },
        resilience: { cb_failure_threshold: 2 },
      });
      const form = formOf([
        ...without('model'),
        { name: 'model', value: 'frail' },
        { name: 'stream', value: 'true' },
      ]);
      own.behave({
        route: PATH,
        chunks: ['data: {}\n\n', 'data: {}\n\n'],
        cut: { how: 'reset', at: 12 },
      });
      for (let at = 0; at < 2; at += 1) {
        const got = await post(form);
        expect(got.status).toBe(200);
        expect(got.text).not.toContain('[DONE]');
        expect(got.aborted || got.text.includes('upstream_stream_truncated')).toBe(true);
      }
      const got = await post(form);
      expect([got.status, got.headers['x-smg-error-code']]).toEqual([503, 'no_available_workers']);
      await workers.remove(id);
    } finally {
      await own.stop();
    }
  });

  it('keys: without one 401, and the body is not read', async () => {
    const guarded = await startGateway(
      { requests: { hotLane }, auth: { apiKey: 'sesame' } },
      { engines: [engine] },
    );
    try {
      const form = formOf(audioForm({ name: 'x', value: Buffer.alloc(1000) }));
      const got = await send(guarded.url + PATH, { body: form, headers: formHeaders() });
      expect(got.status).toBe(401);
    } finally {
      await guarded.close();
    }
  });
});
