import { MockEngine } from '@smg/testing';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';

/** What one TLS connection showed. */
export interface Handshake {
  /** Server name of the client; false without one. */
  readonly serverName: string | false;
  readonly isReused: boolean;
  /** Common name in the client's certificate. */
  readonly client: string | undefined;
}

/** A mock engine behind TLS: bytes are passed on as they are. */
export class TlsEngine {
  readonly engine = new MockEngine();
  readonly handshakes: Handshake[] = [];
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(options: TlsOptions) {
    this.server = createServer(options, (socket) => {
      this.accept(socket);
    });
    this.server.on('connection', (socket: Socket) => this.keep(socket));
    this.server.on('tlsClientError', () => undefined);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    await this.engine.start();
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  /** New handshakes show this certificate. */
  show(options: TlsOptions): void {
    this.server.setSecureContext(options);
  }

  /** Ends every connection. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
    await this.engine.stop();
  }

  private accept(socket: TLSSocket): void {
    const { servername, authorized } = socket as TLSSocket & { servername: string | false };
    this.handshakes.push({
      serverName: servername,
      isReused: socket.isSessionReused(),
      client: authorized ? [socket.getPeerCertificate().subject.CN].flat()[0] : undefined,
    });
    const inner = connect(Number(new URL(this.engine.url).port), '127.0.0.1');
    this.keep(inner);
    socket.on('error', () => inner.destroy());
    socket.pipe(inner).pipe(socket);
    socket.on('close', () => inner.destroy());
    inner.on('close', () => socket.destroy());
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
  }
}
