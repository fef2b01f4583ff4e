import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send } from '../support/http';
import { until } from '../support/until';

describe('a gateway without a worker', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  it('[G1] is alive: GET /liveness 200 OK', async () => {
    const got = await send(`${gateway.url}/liveness`);
    expect([got.status, got.text]).toEqual([200, 'OK']);
  });

  it('[G3] is not ready: GET /readiness 503', async () => {
    const got = await send(`${gateway.url}/readiness`);
    expect(got.status).toBe(503);
    expect(got.json).toMatchObject({
      status: 'not ready',
      reason: 'insufficient healthy workers',
    });
  });

  it('[G10] has no models: GET /v1/models 503, text', async () => {
    const got = await send(`${gateway.url}/v1/models`);
    expect([got.status, got.text]).toEqual([503, 'No models available']);
    expect(got.headers['content-type']).toContain('text/plain');
  });

  it('has nobody to ask for information: 503 no_workers', async () => {
    for (const path of ['/health_generate', '/get_server_info', '/get_model_info']) {
      const got = await send(gateway.url + path);
      expect(got.status).toBe(503);
      expect(got.json['error']).toMatchObject({ code: 'no_workers', type: 'Service Unavailable' });
      expect(got.headers['x-smg-error-code']).toBe('no_workers');
    }
  });
});

describe('a gateway with two workers', () => {
  let gateway: RunningGateway;
  let engines: MockEngine[];
  beforeAll(async () => {
    engines = await Promise.all([new MockEngine().start(), new MockEngine().start()]);
    gateway = await startGateway({ auth: { apiKey: 'operator' } }, { engines });
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
    await gateway.close();
  });
  afterEach(() => {
    for (const engine of engines) engine.behaveNormally();
  });

  it('[G2] is ready', async () => {
    const got = await send(`${gateway.url}/readiness`);
    expect(got.status).toBe(200);
    expect(got.json).toEqual({ status: 'ready', healthy_workers: 2, total_workers: 2 });
  });

  it('[G4] answers /health without a key although one is configured', async () => {
    const got = await send(`${gateway.url}/health`);
    expect([got.status, got.text]).toEqual([200, 'OK']);
  });

  it('[G5] relays /health_generate of a worker, status included', async () => {
    const got = await send(`${gateway.url}/health_generate`);
    expect(got.status).toBe(200);
    for (const engine of engines) engine.behave({ route: '/health_generate', status: 503 });
    expect((await send(`${gateway.url}/health_generate`)).status).toBe(503);
  });

  it('[G6] relays /get_server_info of a worker', async () => {
    const info = { version: '0.5', model_path: 'm', tokenizer_path: 't', port: 1, extra: [1] };
    for (const engine of engines) engine.behave({ route: '/get_server_info', body: info });
    const got = await send(`${gateway.url}/get_server_info`);
    expect(got.status).toBe(200);
    expect(got.json).toEqual(info);
  });

  it('[G6] falls back to /server_info for engines that have only that', async () => {
    for (const engine of engines) engine.behave({ route: '/get_server_info', status: 404 });
    const got = await send(`${gateway.url}/get_server_info`);
    expect(got.status).toBe(200);
    expect(got.json).toMatchObject({ model_path: 'mock-model' });
  });

  it('[G7] relays /get_model_info, five times over two workers', async () => {
    for (let i = 0; i < 5; i += 1) {
      const got = await send(`${gateway.url}/get_model_info`);
      expect(got.status).toBe(200);
      expect(got.json).toMatchObject({ model_path: 'mock-model', is_generation: true });
    }
  });

  it('[G8] relays the failure of an engine: /get_model_info 500 or 503', async () => {
    for (const engine of engines) engine.behave({ status: 500 });
    expect([500, 503]).toContain((await send(`${gateway.url}/get_model_info`)).status);
  });

  it('[G9] lists each model once: GET /v1/models', async () => {
    const got = await send(`${gateway.url}/v1/models`);
    expect(got.status).toBe(200);
    expect(got.json).toEqual({
      object: 'list',
      data: [{ id: 'mock-model', object: 'model', created: 0, owned_by: 'self_hosted' }],
    });
  });

  it('answers HEAD on every public GET route, without a body', async () => {
    for (const path of ['/liveness', '/health', '/readiness', '/v1/models', '/get_model_info']) {
      const got = await send(gateway.url + path, { method: 'HEAD' });
      expect([path, got.status, got.body.length]).toEqual([path, 200, 0]);
    }
  });

  it('names the worker that answered (decision 17)', async () => {
    for (const path of ['/health_generate', '/get_model_info']) {
      expect((await send(gateway.url + path)).headers['x-smg-routed-worker-id']).toBeDefined();
    }
  });
});

describe('a gateway that drains', () => {
  it('[G11] is alive and not ready, says why, and finishes the stream it has', async () => {
    const engine = await new MockEngine({ tokens: 30, tokenLatencyMs: 30 }).start();
    const gateway = await startGateway({}, { engines: [engine] });
    const stream = await open(`${gateway.url}/generate`, { body: { text: 'x', stream: true } });
    let text = '';
    stream.incoming.on('data', (part: Buffer) => (text += part.toString()));
    const ended = gateway.gateway.shutdown();
    try {
      await until('readiness is 503', async () => {
        const got = await send(`${gateway.url}/readiness`);
        if (got.status === 200) return false;
        expect(got.status).toBe(503);
        expect(got.json['reason']).toBe('draining');
        return true;
      });
      expect((await send(`${gateway.url}/liveness`)).status).toBe(200);
      // The settle window: a balancer that has not noticed yet is still served.
      const late = await send(`${gateway.url}/generate`, {
        body: { text: 'x', sampling_params: { max_new_tokens: 1 } },
      });
      expect(late.status).toBe(200);
      expect(late.headers.connection).toBe('close');
      await ended;
      expect(text).toContain('[DONE]');
      await expect(send(`${gateway.url}/liveness`)).rejects.toThrow(/ECONNREFUSED/);
    } finally {
      await ended;
      await engine.stop();
    }
  });
});
