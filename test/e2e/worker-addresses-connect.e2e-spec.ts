import { MockEngine } from '@smg/testing';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat } from './support/bodies';
import { FakeDns } from './support/fake-dns';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
const REFUSALS = 'smg_worker_address_refusals_total';

describe('names that change their addresses', () => {
  const dns = new FakeDns();
  // Slow enough for requests to need connections of their own.
  const engine = new MockEngine({ latencyMs: 100 });
  let gateway: RunningGateway;
  let url: string;
  beforeEach(async () => {
    await engine.start();
    url = `http://rebinds.test:${new URL(engine.url).port}`;
    dns.set('rebinds.test', '127.0.0.1');
    gateway = await startGateway({
      upstream: { denyCidrs: ['127.0.0.2'] },
      retry: { maxAttempts: 1 },
    });
    await workersOf(gateway.url).added({ url });
  });
  afterEach(async () => {
    await gateway.close();
    await engine.stop();
  });
  afterAll(() => {
    dns.restore();
  });

  const flush = () => send(`${gateway.url}/flush_cache`, { method: 'POST' });
  const refusals = async () => sample(await gateway.metrics(), REFUSALS, { stage: 'connect' });

  it.each(['169.254.169.254', '127.0.0.2', '::ffff:169.254.169.254', 'fe80::1'])(
    '[R72] a name that now resolves to %s is not connected to',
    async (address) => {
      expect((await flush()).status).toBe(200);
      const before = engine.counters.of('/flush_cache');
      dns.set('rebinds.test', address);
      const refused = await flush();
      expect(refused.text).toContain('ERR_WORKER_ADDRESS_REFUSED');
      expect(engine.counters.of('/flush_cache')).toBe(before);
      expect(await refusals()).toBe(1);
      expect(gateway.rawLogs.join('')).toContain(`not connected to rebinds.test at ${address}: `);
    },
  );

  it('[R72] inference is refused in the same way, and the client learns no address', async () => {
    dns.set('rebinds.test', '169.254.169.254');
    // The pooled connection is to the place that was judged; it goes on serving.
    expect((await send(`${gateway.url}${CHAT}`, { body: chat() })).status).toBe(200);
    // More than registration left connections for.
    const many = Array.from({ length: 20 }, () => send(`${gateway.url}${CHAT}`, { body: chat() }));
    const answers = await Promise.all(many);
    const refused = answers.filter(({ status }) => status === 502);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expect(answer.json['error']).toMatchObject({ code: 'call_upstream_request_error' });
      expect(answer.text).toContain('ERR_WORKER_ADDRESS_REFUSED');
      expect(answer.text).not.toContain('169.254');
    }
  });

  it('of several addresses only those that may be are tried', async () => {
    dns.set('rebinds.test', '169.254.169.254', 'fe80::1', '127.0.0.1');
    expect((await flush()).status).toBe(200);
    expect(await refusals()).toBe(2);
    const lines = gateway.rawLogs.filter((line) => line.includes('not connected to'));
    expect(lines).toHaveLength(1);
  });

  it('probes are refused too: the worker leaves', async () => {
    await gateway.close();
    gateway = await startGateway({ health: { checkIntervalSecs: 1, failureThreshold: 1 } });
    dns.set('rebinds.test', '127.0.0.1');
    const id = await workersOf(gateway.url).added({ url });
    dns.set('rebinds.test', '169.254.169.254');
    // Probes use the pool; this ends its connections, as a restart of the engine would.
    await engine.stop();
    await until('the worker is out', async () => {
      return (await workersOf(gateway.url).find(id)).status !== 'ready';
    });
    await until('the reason is told', () =>
      gateway.rawLogs.some((line) => line.includes('ERR_WORKER_ADDRESS_REFUSED')),
    );
    await engine.start();
  });
});

describe('redirects', () => {
  const elsewhere: Server = createServer((_request, response) => {
    followed++;
    response.end('{}');
  });
  let followed = 0;
  let target = '';
  beforeAll(async () => {
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    target = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await new Promise((resolve) => elsewhere.close(resolve));
  });

  it.each(['http://169.254.169.254/latest/meta-data', 'elsewhere'])(
    '[R72] a redirect to %s is the client’s, and never followed',
    async (place) => {
      const engine = await new MockEngine().start();
      const gateway = await startGateway({}, { engines: [engine] });
      const location = place === 'elsewhere' ? target : place;
      try {
        engine.behave({ route: CHAT, status: 302, headers: { location } });
        const answer = await send(`${gateway.url}${CHAT}`, { body: chat() });
        expect([answer.status, answer.headers.location]).toEqual([302, location]);
        expect(followed).toBe(0);
      } finally {
        await gateway.close();
        await engine.stop();
      }
    },
  );

  it('[R72] a probe that is redirected has failed, and metadata is not taken from elsewhere', async () => {
    const engine = await new MockEngine().start();
    const gateway = await startGateway();
    try {
      engine.behave({ route: '/health', status: 302, headers: { location: `${target}/health` } });
      const answer = await send(`${gateway.url}/workers`, {
        body: { url: engine.url, max_connection_attempts: 1 },
      });
      const id = answer.json['worker_id'] as string;
      await until('the registration has failed', async () => {
        const { job_status: job } = await workersOf(gateway.url).find(id);
        return job?.message === 'no healthy engine after 1 attempts: GET /health answered 302';
      });
      engine.behaveNormally();
      for (const route of ['/server_info', '/model_info', '/v1/models']) {
        engine.behave({ route, status: 307, headers: { location: `${target}${route}` } });
      }
      await workersOf(gateway.url).added({ url: engine.url });
      expect(followed).toBe(0);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
