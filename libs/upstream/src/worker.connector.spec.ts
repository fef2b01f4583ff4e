import { Logger } from '@nestjs/common';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type LookupFunction, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { TestAuthority } from '../test/certificates';
import { type UpstreamOptions } from './upstream.options';
import { WorkerAddressGuard } from './worker-address.guard';
import { WorkerConnector } from './worker.connector';

const folder = mkdtempSync(join(tmpdir(), 'smg-connector-'));
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const build = (options: Partial<UpstreamOptions> = {}) => {
  const all = { poolIdleTimeoutSecs: 3, connectTimeoutMs: 1000, ...options };
  const connector = new WorkerConnector(all, new WorkerAddressGuard(all));
  connector.onModuleInit();
  return connector;
};

interface Outcome {
  readonly error?: Error & { readonly code?: string };
  readonly socket?: Socket;
}

const connect = (connector: WorkerConnector, url: string): Promise<Outcome> =>
  new Promise((done) => {
    const { protocol, hostname, host, port } = new URL(url);
    const plain = hostname.replace(/^\[|\]$/g, '');
    connector.connect({ protocol, hostname: plain, host, port }, (error, socket) => {
      socket?.destroy();
      done(error === null ? { socket: socket } : { error });
    });
  });

const server = createServer((socket) => {
  connections++;
  socket.on('error', () => undefined);
});
let connections = 0;
let port = 0;

beforeAll(async () => {
  Logger.overrideLogger(false);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as { readonly port: number }).port;
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await new Promise((resolve) => server.close(resolve));
});

describe('addresses', () => {
  it('connects to loopback', async () => {
    expect((await connect(build(), `http://127.0.0.1:${port}`)).socket).toBeDefined();
    expect((await connect(build(), `http://localhost:${port}`)).socket).toBeDefined();
  });

  it.each([
    'http://169.254.169.254',
    'http://0xa9fea9fe',
    'http://[::ffff:a9fe:a9fe]',
    'https://0',
  ])('opens no socket to %s', async (url) => {
    const { error } = await connect(build(), url);
    expect(error?.code).toBe('ERR_WORKER_ADDRESS_REFUSED');
  });

  it('judges the mapped spelling of an address that is denied', async () => {
    const before = connections;
    const connector = build({ denyCidrs: ['127.0.0.0/8'] });
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '2130706433', 'localhost']) {
      const { error } = await connect(connector, `http://${host}:${port}`);
      expect(error?.code).toBe('ERR_WORKER_ADDRESS_REFUSED');
    }
    expect(connections).toBe(before);
  });

  it('connects to none of the refused addresses of a name, whatever it resolved to before', async () => {
    let answers = 0;
    const lookup: LookupFunction = (_name, _options, callback) => {
      answers++;
      callback(null, [{ address: answers === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]);
    };
    const connector = build({ lookup, denyCidrs: ['127.0.0.2'] });
    expect((await connect(connector, `http://rebinds.test:${port}`)).socket).toBeDefined();
    const { error } = await connect(connector, `http://rebinds.test:${port}`);
    expect(error?.code).toBe('ERR_WORKER_ADDRESS_REFUSED');
  });
});

describe('TLS files', () => {
  it('leaves the system authorities trusted besides the given ones', () => {
    const authority = new TestAuthority();
    const made = jest.spyOn(tls, 'createSecureContext');
    build({ tls: { caCertPaths: [file('ca.pem', authority.cert)] } });
    const ca = made.mock.calls[0]?.[0]?.ca as readonly string[];
    made.mockRestore();
    expect(ca).toContain(authority.cert.trimEnd());
    expect(ca).toContain(tls.rootCertificates[0]);
  });

  it('are read at once, and a reload that fails changes nothing', async () => {
    expect(() => build({ tls: { caCertPaths: [join(folder, 'none.pem')] } })).toThrow(
      '--ca-cert-paths',
    );
    const authority = new TestAuthority();
    const path = file('reloaded.pem', authority.cert);
    const engine = tls.createServer(authority.issue({ name: 'e', hosts: ['127.0.0.1'] }));
    engine.on('secureConnection', (socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(engine.address() as { readonly port: number }).port}`;
    const connector = build({ tls: { caCertPaths: [path] } });
    writeFileSync(path, 'nothing');
    expect(() => {
      connector.reload();
    }).toThrow('holds no PEM certificate');
    expect((await connect(connector, url)).socket).toBeDefined();
    writeFileSync(path, new TestAuthority('Other').cert);
    connector.reload();
    expect((await connect(connector, url)).error?.code).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    await new Promise((resolve) => engine.close(resolve));
  });
});
