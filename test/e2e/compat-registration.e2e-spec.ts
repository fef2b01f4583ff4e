import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';

const encoded = (url: string): string => encodeURIComponent(url);

describe('registration as routers of trainers have it', () => {
  let engine: MockEngine;
  let gateway: RunningGateway;

  const add = (url: string, headers: Record<string, string> = {}): Promise<Answer> =>
    send(`${gateway.url}/add_worker?url=${encoded(url)}`, { method: 'POST', headers });
  const list = async (): Promise<string[]> =>
    (await send(`${gateway.url}/list_workers`)).json['urls'];
  const generate = (): Promise<Answer> =>
    send(`${gateway.url}/generate`, { body: { text: 'Hello' } });

  beforeEach(async () => {
    engine = new MockEngine();
    await engine.start();
    gateway = await startGateway({ health: { drainSettleSecs: 0 } });
  });
  afterEach(async () => {
    await gateway.close();
    await engine.stop();
  });

  it('adds by query, and 200 means: the next request is served', async () => {
    const { status, json } = await add(engine.url);
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'ready', url: engine.url });
    expect((await generate()).status).toBe(200);
    expect(await list()).toEqual([engine.url]);
    const { workers } = (await send(`${gateway.url}/workers`)).json;
    expect(workers.map(({ url }: { url: string }) => url)).toEqual([engine.url]);
  });

  it('adds what is there without complaint', async () => {
    const first = await add(engine.url);
    const again = await add(`${engine.url}/`);
    expect([again.status, again.json['worker_id']]).toEqual([200, first.json['worker_id']]);
  });

  it('takes the URL as it is, not encoded', async () => {
    const answer = await send(`${gateway.url}/add_worker?url=${engine.url}`, { method: 'POST' });
    expect(answer.status).toBe(200);
  });

  it('answers 202 when the engine does not come in time', async () => {
    const dead = 'http://127.0.0.1:9';
    const { status, json, headers } = await add(dead, { prefer: 'wait=1' });
    expect([status, json['status'], headers['preference-applied']]).toEqual([
      202,
      'accepted',
      'wait=1',
    ]);
    expect(await list()).toEqual([]);
  });

  it('says in JSON what is wrong', async () => {
    for (const query of ['', '?url=', '?url=ftp://x', '?url=a&url=b']) {
      const answer = await send(`${gateway.url}/add_worker${query}`, { method: 'POST' });
      expect([query, answer.status, answer.json['code']]).toEqual([query, 400, 'BAD_REQUEST']);
    }
    const refused = await add('http://169.254.169.254');
    expect([refused.status, refused.json['code']]).toEqual([400, 'BAD_REQUEST']);
  });

  it('removes by query; 404 for what is not there', async () => {
    await add(engine.url);
    const remove = (): Promise<Answer> =>
      send(`${gateway.url}/remove_worker?url=${encoded(engine.url)}`, { method: 'POST' });
    expect((await remove()).status).toBe(200);
    await until('it is gone', async () => (await list()).length === 0);
    const { status, json } = await remove();
    expect([status, json['code']]).toEqual([404, 'WORKER_NOT_FOUND']);
  });

  it('removes by percent-encoded URL in the path', async () => {
    await add(engine.url);
    const path = `${gateway.url}/workers/${encoded(engine.url)}`;
    expect((await send(path, { method: 'DELETE' })).status).toBe(202);
    await until('it is gone', async () => (await list()).length === 0);
    expect((await send(path, { method: 'DELETE' })).status).toBe(404);
  });

  it('POST /workers waits for who prefers so', async () => {
    const body = { url: engine.url, worker_type: 'regular' };
    const waited = await send(`${gateway.url}/workers`, { body, headers: { prefer: 'wait=20' } });
    expect([waited.status, waited.headers['preference-applied']]).toEqual([200, 'wait=20']);
    expect((await generate()).status).toBe(200);
    expect((await send(`${gateway.url}/workers`, { body })).status).toBe(409);
  });
});

it('--registration-wait-secs makes every registration wait', async () => {
  const engine = new MockEngine();
  await engine.start();
  const gateway = await startGateway({ workers: { registrationWaitSecs: 20 } });
  try {
    const { status } = await send(`${gateway.url}/workers`, { body: { url: engine.url } });
    expect(status).toBe(200);
    expect((await send(`${gateway.url}/v1/models`)).status).toBe(200);
  } finally {
    await gateway.close();
    await engine.stop();
  }
});

it('the routes are operators’ where there are keys', async () => {
  const gateway = await startGateway({ auth: { apiKey: 'secret' } });
  try {
    for (const [method, path] of [
      ['POST', '/add_worker?url=http://127.0.0.1:9'],
      ['POST', '/remove_worker?url=http://127.0.0.1:9'],
      ['GET', '/list_workers'],
      ['POST', '/abort_request'],
      ['GET', '/flush_cache'],
      ['GET', '/v1/loads'],
    ]) {
      const { status } = await send(`${gateway.url}${path ?? ''}`, { method: method ?? '' });
      expect([path, status]).toEqual([path, 401]);
    }
  } finally {
    await gateway.close();
  }
});
