import { MockEngine } from '@smg/testing';
import { DataPlaneServer } from '@smg/proxy';
import { Agent } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat } from './support/bodies';
import {
  certificateFiles,
  makeCertificate,
  type CertificateFiles,
} from '../../src/listener/test/certificates';
import { describeLanes } from './support/lanes';
import { rawPost, sendRaw, statusesIn, statusOf } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
const KEY = 'serving-key-1';
const bearer = { authorization: `Bearer ${KEY}` };

/** A handshake; resolves with the socket, or with the code of what went wrong. */
function shake(
  port: number,
  options: ConnectionOptions,
): Promise<{ socket?: TLSSocket; failure?: string }> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', ...options });
    socket.once('secureConnect', () => {
      resolve({ socket });
    });
    socket.once('error', (error: Error & { code?: string }) => {
      resolve({ failure: error.code ?? error.message });
    });
  });
}

/** Sends exact bytes over TLS; what came back until the end of the connection, or for a second. */
async function sendSecret(port: number, ca: string, bytes: string): Promise<string> {
  const { socket } = await shake(port, { ca });
  if (socket === undefined) throw new Error('no handshake');
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => socket.destroy(), 2_000);
    socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}

describeLanes('the main port with a certificate', ({ hotLane }) => {
  const engine = new MockEngine();
  const first = makeCertificate({ name: 'first' });
  let files: CertificateFiles;
  let gateway: RunningGateway;
  const ca = first.cert;
  beforeAll(async () => {
    await engine.start();
    files = certificateFiles(first);
    gateway = await startGateway(
      {
        tls: { certPath: files.certPath, keyPath: files.keyPath },
        auth: { apiKey: KEY },
        requests: { hotLane },
        health: { checksDisabled: true },
      },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
    files.remove();
  });
  const failures = async (reason: string): Promise<number> =>
    sample(await gateway.metrics(), 'smg_tls_handshake_failures_total', { reason });

  it('serves both planes, buffered and streamed; the metrics port stays plain', async () => {
    const buffered = await send(`${gateway.url}${CHAT}`, { ca, headers: bearer, body: chat() });
    expect(buffered.status).toBe(200);
    const streamed = await send(`${gateway.url}${CHAT}`, {
      ca,
      headers: bearer,
      body: chat({ stream: true }),
    });
    expect(streamed.text).toMatch(/data: \[DONE\]\s*$/);
    const workers = await send(`${gateway.url}/workers`, { ca, headers: bearer });
    expect(workers.json['total']).toBe(1);
    expect((await send(`${gateway.url}/workers`, { ca })).status).toBe(401);
    expect(await gateway.metrics()).toContain('smg_http_requests_total');
  });

  it('a connection serves many requests', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
    try {
      for (let at = 0; at < 5; at += 1) {
        const answer = await send(`${gateway.url}${CHAT}`, {
          agent,
          headers: bearer,
          body: chat(),
        });
        expect(answer.status).toBe(200);
      }
      expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    } finally {
      agent.destroy();
    }
  });

  it.each([
    ['TLSv1.2', 'TLSv1.2'],
    ['TLSv1.3', 'TLSv1.3'],
  ] as const)('speaks %s, and http/1.1 by ALPN', async (version, expected) => {
    const { socket } = await shake(gateway.port, {
      ca,
      minVersion: version,
      maxVersion: version,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    expect(socket?.getProtocol()).toBe(expected);
    expect(socket?.alpnProtocol).toBe('http/1.1');
    socket?.destroy();
  });

  it.each<[string, ConnectionOptions]>([
    ['TLS 1.1', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }],
    ['h2 alone', { ALPNProtocols: ['h2'] }],
  ])('%s is refused in the handshake, and counted', async (_, options) => {
    const before = await failures('protocol');
    const { failure } = await shake(gateway.port, { ca, ...options });
    expect(failure).toBeDefined();
    await until('it is counted', async () => (await failures('protocol')) === before + 1);
  });

  it('a client that does not know the authority leaves, and nothing is logged as an error', async () => {
    const { failure } = await shake(gateway.port, {});
    expect(failure).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(gateway.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('plain HTTP is closed at once, without an answer in clear text', async () => {
    const before = await failures('protocol');
    const answer = await sendRaw(gateway.port, 'GET /health HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(answer.end).not.toBe('open');
    expect(answer.afterMs).toBeLessThan(1_000);
    expect(answer.text).not.toContain('HTTP/');
    await until('it is counted', async () => (await failures('protocol')) === before + 1);
  });

  it('500 bad handshakes leave a counter, no line in the log and nothing behind', async () => {
    const lines = gateway.logs.filter(({ level }) => level !== 'debug').length;
    const before = await failures('protocol');
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 50 }, () => sendRaw(gateway.port, '\x16\x03\x01\x00\x02garbage')),
      );
    }
    await until('all are counted', async () => (await failures('protocol')) >= before + 500);
    expect(gateway.logs.filter(({ level }) => level !== 'debug').length - lines).toBeLessThan(20);
    expect((await send(`${gateway.url}/health`, { ca })).status).toBe(200);
  });

  it('a port check, which connects and leaves, counts as closed', async () => {
    const before = await failures('closed');
    const socket = connectPlain(gateway.port, '127.0.0.1', () => socket.end());
    await until('it is counted', async () => (await failures('closed')) === before + 1);
  });

  it('every connection counts against the open files, from before its handshake to its end', async () => {
    const plane: object = gateway.gateway.app.get(DataPlaneServer);
    // Private, and the only place that knows.
    const { budget } = Reflect.get(plane, 'parts') as { budget: object };
    const counted = (): unknown => Reflect.get(budget, 'clients');
    await until('nobody is connected', () => counted() === 0);
    const silent = connectPlain(gateway.port, '127.0.0.1');
    await until('a handshake counts', () => counted() === 1);
    const { socket } = await shake(gateway.port, { ca });
    expect(counted()).toBe(2);
    silent.destroy();
    socket?.destroy();
    await until('both are gone', () => counted() === 0);
    const server = gateway.gateway.app.getHttpServer() as { maxConnections?: number };
    expect(server.maxConnections).toBeGreaterThan(0);
  });

  it('a client that renegotiates is cut', async () => {
    const { socket } = await shake(gateway.port, { ca, maxVersion: 'TLSv1.2' });
    const refused = await new Promise<boolean>((resolve) => {
      socket?.once('error', () => {
        resolve(true);
      });
      socket?.once('close', () => {
        resolve(true);
      });
      socket?.renegotiate({}, (error) => {
        resolve(error !== null);
      });
    });
    expect(refused).toBe(true);
    socket?.destroy();
  });

  describe('[R22] [framing] the rules of HTTP hold', () => {
    const smuggled = rawPost('/workers', '{"url":"http://127.0.0.1:9"}', [
      `Authorization: Bearer ${KEY}`,
    ]);
    it.each([
      [
        'Transfer-Encoding beside Content-Length',
        `POST ${CHAT} HTTP/1.1\r\nHost: g\r\nContent-Length: ${smuggled.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      ],
      [
        'two Content-Lengths',
        `POST ${CHAT} HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\nContent-Length: 2\r\n\r\n${smuggled}`,
      ],
      ['NUL in a value', `GET /health HTTP/1.1\r\nHost: g\r\nX-A: b\0c\r\n\r\n${smuggled}`],
      ['a bare LF', `GET /health HTTP/1.1\r\nHost: g\nX-A: b\r\n\r\n${smuggled}`],
    ])('%s: 400 and closed', async (_, bytes) => {
      const answer = await sendSecret(gateway.port, ca, bytes);
      expect(statusesIn(answer)).toEqual([400]);
      const workers = await send(`${gateway.url}/workers`, { ca, headers: bearer });
      expect(workers.json['total']).toBe(1);
    });

    it('a head over 64 KiB: 431', async () => {
      const bytes = `GET /health HTTP/1.1\r\nHost: g\r\nX-A: ${'x'.repeat(70_000)}\r\n\r\n`;
      expect(statusOf(await sendSecret(gateway.port, ca, bytes))).toBe(431);
    });

    it('[R29] Expect: 100-continue without a key is 401 without a 100', async () => {
      const bytes = `POST ${CHAT} HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`;
      expect(statusesIn(await sendSecret(gateway.port, ca, bytes))).toEqual([401]);
    });
  });
});

describe('TLS and time', () => {
  it('[R34] a client that says nothing, in the handshake or after it, is cut after 10 s', async () => {
    const identity = makeCertificate();
    const files = certificateFiles(identity);
    const gateway = await startGateway({
      tls: { certPath: files.certPath, keyPath: files.keyPath },
    });
    try {
      const startedAt = performance.now();
      const silent = connectPlain(gateway.port, '127.0.0.1');
      silent.on('error', () => undefined);
      silent.resume();
      const { socket: shaken } = await shake(gateway.port, { ca: identity.cert });
      shaken?.on('error', () => undefined);
      shaken?.resume();
      const ends = await Promise.all(
        [silent, shaken].map(
          (socket) =>
            new Promise<number>((resolve) =>
              socket?.once('close', () => {
                resolve(performance.now() - startedAt);
              }),
            ),
        ),
      );
      for (const afterMs of ends) {
        expect(afterMs).toBeGreaterThan(9_000);
        expect(afterMs).toBeLessThan(14_000);
      }
      const page = await gateway.metrics();
      expect(sample(page, 'smg_tls_handshake_failures_total', { reason: 'timeout' })).toBe(1);
    } finally {
      await gateway.close();
      files.remove();
    }
  });

  it('a handshake that hangs does not hold up the end', async () => {
    const identity = makeCertificate();
    const files = certificateFiles(identity);
    const gateway = await startGateway({
      tls: { certPath: files.certPath, keyPath: files.keyPath },
      requests: { shutdownGracePeriodSecs: 1 },
    });
    const silent = connectPlain(gateway.port, '127.0.0.1');
    silent.on('error', () => undefined);
    await new Promise((resolve) => silent.once('connect', resolve));
    const startedAt = performance.now();
    await gateway.gateway.shutdown();
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    files.remove();
  });
});

describe('reload of the certificate', () => {
  const first = makeCertificate({ name: 'first' });
  const second = makeCertificate({ name: 'second' });
  let files: CertificateFiles;
  let gateway: RunningGateway;
  beforeEach(async () => {
    files = certificateFiles(first);
    gateway = await startGateway({ tls: { certPath: files.certPath, keyPath: files.keyPath } });
  });
  afterEach(async () => {
    await gateway.close();
    files.remove();
  });

  const shown = async (): Promise<string> => {
    const { socket } = await shake(gateway.port, { rejectUnauthorized: false });
    const name = String(socket?.getPeerCertificate().subject.CN);
    socket?.destroy();
    return name;
  };

  it('new connections get the new one, those that are open stay', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: first.cert });
    try {
      expect((await send(`${gateway.url}/health`, { agent })).status).toBe(200);
      expect(await shown()).toBe('first');
      files.write(second);
      await gateway.gateway.reload();
      expect(await shown()).toBe('second');
      const again = await send(`${gateway.url}/health`, { agent });
      expect(again.status).toBe(200);
      // The open connection, by the old certificate: the agent trusts no other.
      await expect(send(`${gateway.url}/health`, { ca: first.cert })).rejects.toThrow();
      expect((await send(`${gateway.url}/health`, { ca: second.cert })).status).toBe(200);
    } finally {
      agent.destroy();
    }
  });

  it.each<[string, () => Partial<typeof first>]>([
    ['half a pair', () => ({ cert: second.cert })],
    ['garbage', () => ({ key: 'garbage' })],
    [
      'an expired pair',
      () => makeCertificate({ name: 'late', notAfter: new Date(Date.now() - 1_000) }),
    ],
  ])('%s is refused by name, and the old one stays', async (_, broken) => {
    files.write(broken());
    await gateway.gateway.reload();
    expect(await shown()).toBe('first');
    const errors = gateway.logs.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(String(errors[0]?.['msg'])).toMatch(/^tls: kept as it was: --tls-/);
    files.write(second);
    await gateway.gateway.reload();
    expect(await shown()).toBe('second');
  });

  it('the end of its validity is a metric, and follows', async () => {
    const expiry = async (): Promise<number> =>
      sample(await gateway.metrics(), 'smg_tls_certificate_expiry_timestamp_seconds');
    const before = await expiry();
    expect(before).toBeGreaterThan(Date.now() / 1000);
    files.write(makeCertificate({ notAfter: new Date('2039-01-01T00:00:00Z') }));
    await gateway.gateway.reload();
    expect(await expiry()).toBe(Date.parse('2039-01-01T00:00:00Z') / 1000);
  });
});

describe('the start with a certificate', () => {
  it('an expired one is a warning', async () => {
    const expired = makeCertificate({ notAfter: new Date('2020-01-01Z') });
    const files = certificateFiles(expired);
    const { certPath, keyPath } = files;
    const gateway = await startGateway({ tls: { certPath, keyPath } });
    try {
      const { socket } = await shake(gateway.port, { rejectUnauthorized: false });
      expect(socket).toBeDefined();
      socket?.destroy();
      expect(gateway.logs).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          msg: 'the certificate expired on 2020-01-01T00:00:00.000Z',
        }),
      );
    } finally {
      await gateway.close();
      files.remove();
    }
  });

  it.each<[string, () => Partial<ReturnType<typeof makeCertificate>>, RegExp]>([
    ['the key of another', () => ({ key: makeCertificate().key }), /is not the key of/],
    ['garbage', () => ({ cert: 'garbage' }), /holds no certificate/],
  ])('%s stops it', async (_, broken, message) => {
    const files = certificateFiles({ ...makeCertificate(), ...broken() });
    const { certPath, keyPath } = files;
    try {
      await expect(startGateway({ tls: { certPath, keyPath } })).rejects.toThrow(message);
    } finally {
      files.remove();
    }
  });

  it('a missing file stops it', async () => {
    const tls = { certPath: '/nonexistent/cert.pem', keyPath: '/nonexistent/key.pem' };
    await expect(startGateway({ tls })).rejects.toThrow(
      '--tls-cert-path: cannot read /nonexistent/cert.pem: ENOENT',
    );
  });
});

describe('without a certificate', () => {
  it('a TLS handshake gets a clean refusal', async () => {
    const gateway = await startGateway();
    try {
      const { failure } = await shake(gateway.port, { rejectUnauthorized: false });
      expect(failure).toBeDefined();
      expect((await send(`${gateway.url}/health`)).status).toBe(200);
      const page = await gateway.metrics();
      expect(page).not.toMatch(/^smg_tls_/m);
    } finally {
      await gateway.close();
    }
  });
});
