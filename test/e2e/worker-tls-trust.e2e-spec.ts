import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PartialGatewayConfig } from '../../src';
import { TestAuthority } from '../support/certificates';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat } from './support/bodies';
import { TlsEngine } from './support/tls-engine';

const CHAT = '/v1/chat/completions';

const folder = mkdtempSync(join(tmpdir(), 'smg-worker-tls-'));
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const authority = new TestAuthority();
const other = new TestAuthority('Other');
const clients = new TestAuthority('Clients');
const host = authority.issue({ name: 'engine', hosts: ['127.0.0.1', 'localhost'] });
const client = clients.issue({ name: 'the gateway' });
const caCertPaths = [file('ca.pem', authority.cert)];
const identity = {
  clientCertPath: file('client.pem', client.cert),
  clientKeyPath: file('client-key.pem', client.key),
};

let gateway: RunningGateway | undefined;
let engine: TlsEngine | undefined;

async function boot(
  upstream: PartialGatewayConfig['upstream'],
  tls: ConstructorParameters<typeof TlsEngine>[0] = host,
): Promise<{ readonly gateway: RunningGateway; readonly engine: TlsEngine }> {
  engine = await new TlsEngine(tls).start();
  gateway = await startGateway({ ...(upstream === undefined ? {} : { upstream }) });
  return { gateway, engine };
}

/** Registers and waits for the end of it. @returns why it failed, or undefined. */
async function register(url: string): Promise<string | undefined> {
  const base = `${gateway?.url ?? ''}/workers`;
  const answer = await send(base, { body: { url, max_connection_attempts: 1 } });
  expect(answer.status).toBe(202);
  const id = answer.json['worker_id'] as string;
  let message: string | undefined;
  await until('the registration has ended', async () => {
    const { status, job_status: job } = await workersOf(gateway?.url ?? '').find(id);
    message = job?.status === 'failed' ? (job.message ?? '') : undefined;
    return status === 'ready' || message !== undefined;
  });
  return message;
}

afterEach(async () => {
  await gateway?.close();
  await engine?.stop();
  gateway = undefined;
  engine = undefined;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('certificates of workers', () => {
  it('[9.1] one of an unknown authority is refused, and the reason is told', async () => {
    const { gateway, engine } = await boot(undefined);
    const message = await register(engine.url);
    expect(message).toBe(
      'no healthy engine after 1 attempts: GET /health: cannot connect: certificate of an unknown authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    );
    expect(gateway.rawLogs.join('')).toContain('certificate of an unknown authority');
    expect(engine.engine.counters.of('/health')).toBe(0);
  });

  it('[9.1] one of another authority than the given ones is refused', async () => {
    const { engine } = await boot({ caCertPaths: [file('other.pem', other.cert)] });
    expect(await register(engine.url)).toContain('certificate of an unknown authority');
  });

  it('[9.1] one of a given authority is good for probes, control calls and inference', async () => {
    const { gateway, engine } = await boot({
      caCertPaths: [file('other.pem', other.cert), ...caCertPaths],
    });
    expect(await register(engine.url)).toBeUndefined();
    expect((await send(`${gateway.url}${CHAT}`, { body: chat() })).status).toBe(200);
    expect((await send(`${gateway.url}/flush_cache`, { method: 'POST' })).status).toBe(200);
    expect(engine.engine.counters.of('/flush_cache')).toBe(1);
  });

  it('one for another host is refused', async () => {
    const { engine } = await boot(
      { caCertPaths },
      authority.issue({ name: 'engine', hosts: ['elsewhere.test', '127.0.0.2'] }),
    );
    expect(await register(engine.url)).toContain('the certificate is for another host');
    expect(await register(`https://localhost:${engine.port}`)).toContain('for another host');
  });

  it('one that has expired is refused', async () => {
    const { engine } = await boot(
      { caCertPaths },
      authority.issue({ name: 'engine', hosts: ['127.0.0.1'], days: -1 }),
    );
    expect(await register(engine.url)).toContain('the certificate has expired');
  });

  it('a request that meets an engine whose certificate went bad is answered without secrets', async () => {
    const { gateway, engine } = await boot({ caCertPaths, ...identity });
    expect(await register(engine.url)).toBeUndefined();
    // No resuming: with a session the certificate is not looked at again.
    await gateway.gateway.reload();
    engine.show(other.issue({ name: 'engine', hosts: ['127.0.0.1'] }));
    engine.cut();
    const answer = await send(`${gateway.url}${CHAT}`, { body: chat() });
    expect(answer.status).toBe(502);
    expect(answer.text).toContain('certificate of an unknown authority');
    for (const text of [answer.text, ...gateway.rawLogs]) {
      expect(text).not.toContain('PRIVATE KEY');
      expect(text).not.toContain(client.key.split('\n')[1] ?? '');
    }
  });
});

describe('certificates of this gateway', () => {
  const demanding = { ...host, ca: clients.cert, requestCert: true, rejectUnauthorized: true };

  it('[9.1] a worker that wants one fails without it', async () => {
    const { engine } = await boot({ caCertPaths }, demanding);
    expect(await register(engine.url)).toMatch(
      /^no healthy engine after 1 attempts: GET \/health: /,
    );
    expect(engine.engine.counters.of('/health')).toBe(0);
    expect(engine.handshakes).toEqual([]);
  });

  it('[9.1] and works with it, for probes, control calls and inference', async () => {
    const { gateway, engine } = await boot({ caCertPaths, ...identity }, demanding);
    expect(await register(engine.url)).toBeUndefined();
    expect((await send(`${gateway.url}${CHAT}`, { body: chat() })).status).toBe(200);
    expect((await send(`${gateway.url}/flush_cache`, { method: 'POST' })).status).toBe(200);
    expect(engine.handshakes.length).toBeGreaterThan(1);
    for (const { client } of engine.handshakes) expect(client).toBe('the gateway');
  });

  it('one of an authority the worker does not know is refused', async () => {
    const { engine } = await boot({ caCertPaths, ...identity }, { ...demanding, ca: other.cert });
    expect(await register(engine.url)).toMatch(/cannot connect|connection lost/);
    expect(engine.engine.counters.of('/health')).toBe(0);
  });
});

describe('handshakes', () => {
  it('name the host when it is a name, in any spelling, and only then', async () => {
    const { engine } = await boot({ caCertPaths });
    expect(await register(`https://LOCALHOST.:${engine.port}`)).toBeUndefined();
    expect(new Set(engine.handshakes.map(({ serverName }) => serverName))).toEqual(
      new Set(['localhost']),
    );
    engine.handshakes.length = 0;
    expect(await register(engine.url)).toBeUndefined();
    expect(new Set(engine.handshakes.map(({ serverName }) => serverName))).toEqual(
      new Set([false]),
    );
  });

  it('resume the session of an earlier one', async () => {
    const { gateway, engine } = await boot({ caCertPaths });
    expect(await register(engine.url)).toBeUndefined();
    for (let i = 0; i < 3; i++) await send(`${gateway.url}/flush_cache`, { method: 'POST' });
    const resumed = engine.handshakes.filter(({ isReused }) => isReused);
    expect(engine.handshakes[0]?.isReused).toBe(false);
    expect(resumed.length).toBeGreaterThanOrEqual(2);
  });
});

describe('files', () => {
  it('that cannot be used stop the start, and the message says which and why', async () => {
    await expect(startGateway({ upstream: { caCertPaths: ['/no/such.pem'] } })).rejects.toThrow(
      '--ca-cert-paths: /no/such.pem: cannot be read (ENOENT)',
    );
    const strange = { ...identity, clientKeyPath: file('strange.pem', host.key) };
    await expect(startGateway({ upstream: strange })).rejects.toThrow(
      /^--client-key-path: .*strange\.pem: not the key of the certificate/,
    );
  });

  it('are read again on a reload, and used for new connections', async () => {
    const ca = file('rotating.pem', authority.cert);
    const files = {
      caCertPaths: [ca],
      clientCertPath: file('rotating-client.pem', client.cert),
      clientKeyPath: file('rotating-client-key.pem', client.key),
    };
    const demanding = { ...host, ca: clients.cert, requestCert: true, rejectUnauthorized: true };
    const { gateway, engine } = await boot(files, demanding);
    expect(await register(engine.url)).toBeUndefined();

    const next = clients.issue({ name: 'the next' });
    file('rotating-client.pem', next.cert);
    await gateway.gateway.reload();
    expect(gateway.rawLogs.join('')).toContain('worker-tls: kept as it was');
    await send(`${gateway.url}/flush_cache`, { method: 'POST' });
    expect(engine.handshakes.at(-1)?.client).toBe('the gateway');

    file('rotating-client-key.pem', next.key);
    file('rotating.pem', other.cert);
    engine.show({ ...demanding, ...other.issue({ name: 'engine', hosts: ['127.0.0.1'] }) });
    await gateway.gateway.reload();
    expect(gateway.rawLogs.join('')).toContain('worker-tls: read again');
    const flushed = await send(`${gateway.url}/flush_cache`, { method: 'POST' });
    expect(flushed.status).toBe(200);
    expect(engine.handshakes.at(-1)).toMatchObject({ client: 'the next', isReused: false });
    expect(gateway.rawLogs.join('')).not.toContain('PRIVATE KEY');
  });
});
