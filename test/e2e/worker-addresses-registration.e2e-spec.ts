import { MockEngine } from '@smg/testing';
import { networkInterfaces } from 'node:os';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat } from './support/bodies';
import { FakeDns } from './support/fake-dns';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
const REFUSALS = 'smg_worker_address_refusals_total';

const post = (gateway: RunningGateway, spec: object) =>
  send(`${gateway.url}/workers`, { body: { max_connection_attempts: 1, ...spec } });

/** The message a registration fails with. */
async function failureOf(gateway: RunningGateway, spec: object): Promise<string> {
  const answer = await post(gateway, spec);
  expect([answer.status, answer.text]).toEqual([202, expect.anything()]);
  const id = answer.json['worker_id'] as string;
  let message = '';
  await until('the registration has failed', async () => {
    const { job_status: job } = await workersOf(gateway.url).find(id);
    message = job?.message ?? '';
    return job?.status === 'failed';
  });
  return message;
}

describe('where workers may be', () => {
  const engine = new MockEngine();
  const dns = new FakeDns();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway({ health: { drainSettleSecs: 0 } });
  });
  afterAll(async () => {
    dns.restore();
    await gateway.close();
    await engine.stop();
  });
  const port = (): string => new URL(engine.url).port;

  it.each([
    ['http://169.254.169.254', '169.254.169.254'],
    ['http://169.254.169.254:80/latest/meta-data', '169.254.169.254'],
    ['http://169.254.169.254:8000@3', '169.254.169.254'],
    ['http://169.254.169.254.:8000', '169.254.169.254'],
    ['https://169.254.169.254', '169.254.169.254'],
    ['http://2852039166:8000', '169.254.169.254'],
    ['http://0xa9fea9fe', '169.254.169.254'],
    ['http://0xA9.254.0251.254:8000', '169.254.169.254'],
    ['http://169.16689662', '169.254.169.254'],
    ['http://[::ffff:169.254.169.254]:80', '::ffff:a9fe:a9fe'],
    ['http://[::FFFF:A9FE:A9FE]:80@1', '::ffff:a9fe:a9fe'],
    ['http://[64:ff9b::169.254.169.254]', '64:ff9b::a9fe:a9fe'],
    ['http://[2002:a9fe:a9fe::]:8000', '2002:a9fe:a9fe::'],
    ['http://[fd00:ec2::254]', 'fd00:ec2::254'],
    ['http://[fe80::1%25eth0]:8000', 'fe80::1%eth0'],
    ['http://[FE80::1%eth0]:8000', 'fe80::1%eth0'],
    ['http://100.100.100.200', '100.100.100.200'],
    ['http://168.63.129.16:32526', '168.63.129.16'],
    ['http://0:8000', '0.0.0.0'],
    ['http://[::]:8000', '::'],
    ['http://224.0.0.1', '224.0.0.1'],
    ['http://255.255.255.255', '255.255.255.255'],
  ])('[R72] %s is refused at once', async (url, address) => {
    const answer = await post(gateway, { url });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({
      error: expect.stringContaining(`no worker may be at ${address}: `),
      code: 'BAD_REQUEST',
    });
  });

  it('[R72] PUT is judged like POST', async () => {
    const id = await workersOf(gateway.url).added({ url: engine.url });
    const answer = await send(`${gateway.url}/workers/${id}`, {
      method: 'PUT',
      body: { url: 'http://169.254.169.254' },
    });
    expect([answer.status, answer.json['code']]).toEqual([400, 'BAD_REQUEST']);
    expect(answer.json['error']).toContain('no worker may be at 169.254.169.254');
    await workersOf(gateway.url).remove(id);
    await until('it is gone', async () => (await workersOf(gateway.url).list()).total === 0);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['localhost', 'localhost'],
    ['LOCALHOST.', 'localhost.'],
    ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
  ])('[R52] %s is this machine, which is allowed, and the socket finds it', async (host, shown) => {
    const workers = workersOf(gateway.url);
    const id = await workers.added({ url: `http://${host}:${port()}` });
    const before = engine.counters.of(CHAT);
    const answer = await send(`${gateway.url}${CHAT}`, { body: chat() });
    expect([answer.status, engine.counters.of(CHAT)]).toEqual([200, before + 1]);
    expect((await workers.find(id)).url).toBe(`http://${shown}:${port()}`);
    await workers.remove(id);
    await until('it is gone', async () => (await workers.list()).total === 0);
  });

  it('a name is resolved by the registration, and refused for any of its addresses', async () => {
    const before = sample(await gateway.metrics(), REFUSALS, { stage: 'registration' });
    dns.set('meta.test', '127.0.0.1', '169.254.169.254');
    expect(await failureOf(gateway, { url: `http://META.test:${port()}` })).toBe(
      'no worker may be at meta.test, which resolves to 169.254.169.254: it is a cloud metadata service (169.254.169.254/32)',
    );
    const after = sample(await gateway.metrics(), REFUSALS, { stage: 'registration' });
    expect(after).toBe(before + 1);
    expect(gateway.rawLogs.join('')).toContain('registration of http://meta.test');
  });

  it('a name that does not resolve fails as it always did', async () => {
    expect(await failureOf(gateway, { url: 'http://nowhere.invalid:1' })).toMatch(
      /^no healthy engine after 1 attempts: GET \/health: cannot connect \((ENOTFOUND|EAI_AGAIN)\)$/,
    );
  });
});

describe('lists', () => {
  it('an allow list refuses everything else, this machine included', async () => {
    const gateway = await startGateway({ upstream: { allowCidrs: ['10.0.0.0/8', 'fd00::/8'] } });
    try {
      for (const host of ['127.0.0.1', '[::1]', '8.8.8.8', '[::ffff:127.0.0.1]']) {
        const answer = await post(gateway, { url: `http://${host}:1` });
        expect(answer.json['error']).toContain('it is in no network of --worker-allow-cidr');
      }
      for (const host of ['10.255.0.1', '[fd00::1%25lo]', '[::ffff:10.0.0.1]']) {
        const spec = { url: `http://${host}:1`, max_connection_attempts: 1 };
        const { status, json } = await post(gateway, spec);
        expect(status).toBe(202);
        await send(`${gateway.url}/workers/${json['worker_id'] as string}`, { method: 'DELETE' });
      }
      expect(await failureOf(gateway, { url: 'http://localhost:1' })).toContain(
        'it is in no network of --worker-allow-cidr',
      );
    } finally {
      await gateway.close();
    }
  });

  it('a denied network wins', async () => {
    const gateway = await startGateway({
      upstream: { allowCidrs: ['127.0.0.0/8'], denyCidrs: ['127.0.0.2'] },
    });
    try {
      const answer = await post(gateway, { url: 'http://127.0.0.2:1' });
      expect(answer.json['error']).toBe(
        'no worker may be at 127.0.0.2: it is in a network of --worker-deny-cidr',
      );
    } finally {
      await gateway.close();
    }
  });

  it.each([
    ['http://0xa9fea9fe:8000', {}, 'it is a cloud metadata service'],
    ['http://127.0.0.1:8000@1', { denyCidrs: ['127.0.0.0/8'] }, '--worker-deny-cidr'],
  ])('a start-up worker at %s stops the start', async (url, upstream, why) => {
    const start = startGateway({ workers: { urls: ['http://10.0.0.1', url] }, upstream });
    await expect(start).rejects.toThrow(/^start-up worker 2: no worker may be at/);
    await expect(start).rejects.toThrow(why);
  });
});

/** An interface that has ::1, by name; the test needs one. */
const loopback = Object.entries(networkInterfaces()).find(([, addresses]) =>
  addresses?.some(({ address }) => address === '::1'),
)?.[0];

(loopback === undefined ? describe.skip : describe)('IPv6', () => {
  it.each([
    ['[::1]', 'http://[::1]'],
    ['[0:0:0:0:0:0:0:1]', 'http://[::1]'],
    [`[::1%25${loopback ?? ''}]`, `http://[::1%25${loopback ?? ''}]`],
    [`[::1%${loopback ?? ''}]`, `http://[::1%25${loopback ?? ''}]`],
  ])('[R52] %s, with a rank, reaches the right socket', async (host, shown) => {
    const engine = await new MockEngine({ host: '::1', dpSize: 4 }).start();
    const gateway = await startGateway();
    const port = new URL(engine.url).port;
    try {
      const id = await workersOf(gateway.url).added({ url: `http://${host}:${port}@2` });
      expect((await workersOf(gateway.url).find(id)).url).toBe(`${shown}:${port}@2`);
      const answer = await send(`${gateway.url}${CHAT}`, { body: chat() });
      expect(answer.status).toBe(200);
      expect(engine.requests.at(-1)?.values('host')).toEqual([`[::1]:${port}`]);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
