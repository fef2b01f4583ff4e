import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What a {@link MockTcpEngine} does with each connection. */
export interface TcpScript {
  /** Written one by one, `gapMs` apart. */
  readonly bytes: readonly (string | Buffer)[];
  /** When to start: as the connection is made, or once a request (head and body) was read. */
  readonly after?: 'accept' | 'request';
  /** What follows; default `fin`. `keep` waits for the next request and answers again. */
  readonly then?: 'fin' | 'reset' | 'hang' | 'keep';
  /** Milliseconds between writes; default 1, so that each is a segment of its own. */
  readonly gapMs?: number;
}

/** Length of the first complete request in `bytes`, or undefined. */
function requestLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = bytes.subarray(0, end).toString('latin1');
  const length = /^content-length:\s*(\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    const total = end + 4 + Number(length);
    return bytes.length >= total ? total : undefined;
  }
  if (!/^transfer-encoding:.*chunked/im.test(head)) return end + 4;
  const last = bytes.indexOf('0\r\n\r\n', end + 4);
  return last === -1 ? undefined : last + 5;
}

/** A server that answers with exact bytes, for answers no HTTP library would send. */
export class MockTcpEngine {
  /** Raw requests, in order of arrival. */
  readonly received: Buffer[] = [];
  /** Connections made so far. */
  accepted = 0;
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  private port = 0;

  constructor(public script: TcpScript) {}

  async start(): Promise<this> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      this.accept(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    for (const socket of this.sockets) socket.destroy();
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
    });
  }

  private accept(socket: Socket): void {
    this.accepted += 1;
    this.sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => this.sockets.delete(socket));
    socket.on('error', () => {
      // Resets are what this server is for.
    });
    socket.once('end', () => socket.end());
    const script = this.script;
    if (script.after === 'accept') void this.answer(socket, script);
    let pending = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      pending = Buffer.concat([pending, data]);
      for (let length = requestLength(pending); length !== undefined;) {
        this.received.push(pending.subarray(0, length));
        pending = pending.subarray(length);
        if (script.after !== 'accept') void this.answer(socket, script);
        length = requestLength(pending);
      }
    });
  }

  private async answer(socket: Socket, script: TcpScript): Promise<void> {
    for (const bytes of script.bytes) {
      if (socket.destroyed) return;
      socket.write(bytes);
      await new Promise((resolve) => setTimeout(resolve, script.gapMs ?? 1));
    }
    if (socket.destroyed) return;
    const then = script.then ?? 'fin';
    if (then === 'fin') socket.end();
    if (then === 'reset') socket.resetAndDestroy();
  }
}
