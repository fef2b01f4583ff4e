import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';

/** An engine of no known kind, healthy, and odd. `POST /echo` tells what arrived. */
export class OddEngine {
  /** Calls of `/slow` whose caller hung up. */
  hangUps = 0;
  readonly #server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      this.#answer(incoming, outgoing, Buffer.concat(chunks).toString());
    });
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #answer(incoming: IncomingMessage, outgoing: ServerResponse, text: string): void {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://engine');
    const json = (body: unknown): void => {
      outgoing.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    };
    switch (pathname) {
      case '/health':
        return json({});
      case '/v1/models':
        return json({ object: 'list', data: [{ id: 'mock-model', object: 'model' }] });
      case '/echo':
        return json({ query: [...searchParams], text, headers: incoming.headers });
      case '/text':
        outgoing.setHeader('content-type', 'text/plain').end('plain');
        return;
      case '/redirect':
        outgoing.writeHead(302, { location: '/text' }).end('elsewhere');
        return;
      case '/huge':
        return json({ a: 'x'.repeat(1_100_000) });
      case '/nothing':
        outgoing.writeHead(204).end();
        return;
      case '/slow':
        outgoing.on('close', () => (this.hangUps += 1));
        return;
      default:
        outgoing.statusCode = 404;
        return json({ error: 'no such route' });
    }
  }
}
