import { MockEngine } from '@smg/testing';
import { startGateway } from '../support/gateway';
import { send } from '../support/http';
import { freePorts } from '../support/program';
import { until } from '../support/until';
import { workersOf } from '../support/workers';

describe('workers of the command line', () => {
  it('[3.4] one that is not there yet does not hold the others, and joins when it is', async () => {
    const [port = 0] = await freePorts(1);
    const [here, late] = [await new MockEngine().start(), new MockEngine({ port, model: 'late' })];
    const gateway = await startGateway(
      { workers: { urls: [here.url, `http://127.0.0.1:${port}`] } },
      { ready: 1 },
    );
    try {
      const got = await send(`${gateway.url}/generate`, { body: { text: 'x' } });
      expect(got.status).toBe(200);
      await late.start();
      await workersOf(gateway.url).untilCount(2);
      const models = (await send(`${gateway.url}/v1/models`)).json['data'];
      expect(models.map(({ id }: { id: string }) => id).sort()).toEqual(['late', 'mock-model']);
    } finally {
      await Promise.all([here.stop(), late.stop()]);
      await gateway.close();
    }
  });

  it('[46] the same URL in several spellings is one worker', async () => {
    const engine = await new MockEngine().start();
    const urls = [engine.url, `${engine.url}/`, engine.url];
    const gateway = await startGateway({ workers: { urls } }, { ready: 1 });
    try {
      const { total, workers } = await workersOf(gateway.url).list();
      expect([total, workers[0]?.url]).toEqual([1, engine.url]);
      expect(engine.counters.of('/server_info')).toBe(1);
    } finally {
      await engine.stop();
      await gateway.close();
    }
  });

  it('[3.6] an engine that knows only the older paths is registered all the same', async () => {
    const engine = await new MockEngine().start();
    engine.behave({ route: '/server_info', status: 404 });
    engine.behave({ route: '/model_info', status: 404 });
    const gateway = await startGateway({}, { engines: [engine] });
    try {
      const [worker] = (await workersOf(gateway.url).list()).workers;
      expect(worker).toMatchObject({ model_id: 'mock-model', runtime_type: 'sglang' });
      expect(worker?.labels).toMatchObject({ max_running_requests: '2048' });
    } finally {
      await engine.stop();
      await gateway.close();
    }
  });

  it('[3.6] metadata that fails, hangs or is nonsense never fails the registration', async () => {
    const engine = await new MockEngine().start();
    engine.behave({ route: '/server_info', body: '{"model_path":' });
    engine.behave({ route: '/get_server_info', status: 500 });
    engine.behave({ route: '/model_info', body: '[]' });
    engine.behave({ route: '/get_model_info', cut: { how: 'reset', at: 'request' } });
    engine.behave({ route: '/v1/models', body: { data: 'none', object: 7 } });
    const gateway = await startGateway({}, { engines: [engine] });
    try {
      expect((await workersOf(gateway.url).list()).workers[0]?.status).toBe('ready');
      const got = await send(`${gateway.url}/generate`, { body: { text: 'x' } });
      expect(got.status).toBe(200);
    } finally {
      await engine.stop();
      await gateway.close();
    }
  });

  it('[3.2] only http and https workers can be added; a prefill worker gets no request of its own', async () => {
    const [regular, prefill] = [
      await new MockEngine().start(),
      await new MockEngine({ model: 'p' }).start(),
    ];
    const gateway = await startGateway({}, { engines: [regular] });
    try {
      for (const url of ['grpc://127.0.0.1:1', 'grpcs://127.0.0.1:1', 'ipc:///tmp/engine']) {
        const got = await send(`${gateway.url}/workers`, { body: { url } });
        expect([url, got.status, got.json['code']]).toEqual([url, 400, 'BAD_REQUEST']);
      }
      await workersOf(gateway.url).added({ url: prefill.url, worker_type: 'prefill' });
      const list = await send(`${gateway.url}/workers`);
      expect(list.json).toMatchObject({ total: 2, stats: { prefill_count: 1, decode_count: 0 } });
      for (let i = 0; i < 4; i += 1) await send(`${gateway.url}/generate`, { body: { text: 'x' } });
      expect(prefill.counters.of('/generate')).toBe(0);
    } finally {
      await Promise.all([regular.stop(), prefill.stop()]);
      await gateway.close();
    }
  });

  it('[3.2] a PUT whose engine does not answer fails its job and changes nothing', async () => {
    const engine = await new MockEngine().start();
    const gateway = await startGateway({}, { engines: [engine] });
    try {
      const workers = workersOf(gateway.url);
      const before = await workers.byUrl(engine.url);
      engine.behave({ route: '/health', status: 503 });
      await send(`${gateway.url}/workers/${before.id}`, {
        method: 'PUT',
        body: { url: engine.url, priority: 9, max_connection_attempts: 1 },
      });
      await until('the job failed', async () => {
        return (await workers.find(before.id)).job_status?.status === 'failed';
      });
      const { job_status: job, ...after } = await workers.find(before.id);
      expect(after).toEqual(before);
      expect(job).toMatchObject({ job_type: 'UpdateWorker', worker_url: engine.url });
      expect(job?.message).toContain('503');
    } finally {
      await engine.stop();
      await gateway.close();
    }
  });

  it('[3.2] DELETE calls a registration off: its id is gone, the engine is left alone', async () => {
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const gateway = await startGateway();
    const engine = new MockEngine({ port });
    try {
      const added = await send(`${gateway.url}/workers`, { body: { url } });
      const { worker_id: id } = added.json;
      expect((await send(`${gateway.url}/workers/${id}`, { method: 'DELETE' })).status).toBe(202);
      expect((await send(`${gateway.url}/workers/${id}`)).status).toBe(404);
      await engine.start();
      // Longer than the second between two looks.
      await new Promise((resolve) => setTimeout(resolve, 1200));
      expect((await workersOf(gateway.url).list()).total).toBe(0);
      expect(engine.counters.received).toBe(0);
    } finally {
      await engine.stop();
      await gateway.close();
    }
  });
});
