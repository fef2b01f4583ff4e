import { bootRegistry, type Rig } from '../test/rig';

const E1 = 'http://e1:8000';
const E2 = 'http://e2:8000';

let rig: Rig;

beforeEach(async () => {
  rig = await bootRegistry();
});

afterEach(async () => {
  await rig.close();
  expect(rig.time.pending).toBe(0);
  expect(rig.caller.inFlight).toBe(0);
});

const asked = (): number => rig.caller.calls.filter((call) => call.path === '/metrics').length;

describe('GET /engine_metrics', () => {
  it('merges the metrics of every engine, each asked once with its key', async () => {
    rig.caller
      .on(`${E1}/metrics`, { body: '# TYPE sglang:g gauge\nsglang:g{dp_rank="0"} 2.0\n' })
      .on(`${E2}/metrics`, { body: '# TYPE sglang:g gauge\nsglang:g 3\n' });
    await rig.add({ url: `${E1}@0`, dp_size: 2, api_key: 'canary' });
    await rig.add({ url: `${E1}@1`, dp_size: 2, api_key: 'canary' });
    await rig.add({ url: E2 });
    const page = await rig.call('GET', '/engine_metrics');
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(page.text.split('\n').sort()).toEqual([
      '',
      '# TYPE sglang_g gauge',
      `sglang_g{dp_rank="",worker_addr="${E2}"} 3`,
      `sglang_g{dp_rank="0",worker_addr="${E1}"} 2`,
    ]);
    expect(asked()).toBe(2);
    expect(rig.caller.calls.find((call) => call.path === '/metrics')).toMatchObject({
      apiKey: 'canary',
      timeoutMs: 5000,
    });
  });

  it('leaves out engines that fail or talk nonsense, and is empty when all do the latter', async () => {
    rig.caller.on(`${E1}/metrics`, { body: '<html>' }).on(`${E2}/metrics`, new Error('refused'));
    await rig.add({ url: E1 });
    await rig.add({ url: E2 });
    const page = await rig.call('GET', '/engine_metrics');
    expect([page.status, page.text]).toEqual([200, '']);
  });

  it('says when there is nobody to ask, or nobody answers', async () => {
    const nobody = await rig.call('GET', '/engine_metrics');
    expect([nobody.status, nobody.text]).toEqual([500, 'No available workers']);
    expect(nobody.headers['content-type']).toBe('text/plain; charset=utf-8');
    rig.caller.on('/metrics', { status: 500 });
    await rig.add({ url: E1 });
    const failed = await rig.call('GET', '/engine_metrics');
    expect([failed.status, failed.text]).toEqual([500, 'All backend requests failed']);
  });

  it('asks engines at most once a second, however many want the page', async () => {
    rig.caller.on('/metrics', { body: 'g 1\n' });
    await rig.add({ url: E1 });
    const get = () => rig.call('GET', '/engine_metrics');
    const pages = await Promise.all([get(), get(), get()]);
    expect(new Set(pages.map((page) => page.text)).size).toBe(1);
    await get();
    expect(asked()).toBe(1);
    rig.time.advance(1000);
    await get();
    expect(asked()).toBe(2);
  });

  it('drops a worker with its removal', async () => {
    rig.caller.on('/metrics', { body: 'g 1\n' });
    const id = await rig.add({ url: E1, health: { drain_settle_secs: 0 } });
    await rig.add({ url: E2 });
    expect((await rig.call('GET', '/engine_metrics')).text).toContain(E1);
    await rig.call('DELETE', `/workers/${id}`);
    await rig.flush();
    expect((await rig.call('GET', '/engine_metrics')).text).not.toContain(E1);
  });

  it('does not wait for ever, and is made of what came', async () => {
    rig.caller
      .on(`${E1}/metrics`, { body: 'g 1\n' })
      .on(`${E2}/metrics`, () => new Promise(() => undefined));
    await rig.add({ url: E1 });
    await rig.add({ url: E2 });
    const page = rig.call('GET', '/engine_metrics');
    await new Promise(setImmediate);
    await rig.flush();
    rig.time.advance(8000);
    expect((await page).text).toContain(E1);
  });
});
