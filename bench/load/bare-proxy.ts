import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

/**
 * The yardstick: the least proxy that `node:http` and undici allow, with no feature at all. What the
 * gateway costs beyond it is the gateway's own.
 *
 * Usage: bare-proxy <port> <backend origin>
 */

/** Headers of one hop, which a proxy never passes on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const [port, origin] = process.argv.slice(2);
// No timeout of undici's own: an idle stream is quiet for as long as it likes.
const pool = new Pool(origin!, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });

/** Passes one answer on. undici 7 still takes this handler form, and it is the cheapest. */
class Relay implements Dispatcher.DispatchHandler {
  private abort: ((error?: Error) => void) | undefined;
  private resume: (() => void) | undefined;
  private remaining = -1;
  private done = false;

  constructor(private readonly response: ServerResponse) {
    response.on('close', () => {
      if (this.done) return;
      this.done = true;
      this.abort?.(new Error('client left'));
    });
    response.on('drain', () => this.resume?.());
  }

  onConnect(abort: (error?: Error) => void): void {
    if (this.done) abort();
    else this.abort = abort;
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    this.resume = resume;
    const headers: string[] = [];
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!.toString('latin1');
      const lower = name.toLowerCase();
      if (HOP_BY_HOP.has(lower)) continue;
      const value = rawHeaders[i + 1]!.toString('latin1');
      if (lower === 'content-length') this.remaining = Number(value);
      headers.push(name, value);
    }
    this.response.writeHead(status, headers);
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.remaining > 0) {
      this.remaining -= chunk.length;
      // Ending with the last bytes saves a write against ending in onComplete.
      if (this.remaining <= 0) {
        this.done = true;
        this.response.end(chunk);
        return true;
      }
    }
    return this.response.write(chunk);
  }

  onComplete(): void {
    if (this.done) return;
    this.done = true;
    this.response.end();
  }

  onError(): void {
    if (this.done) return;
    this.done = true;
    if (this.response.headersSent) this.response.destroy();
    else this.response.writeHead(502, { 'content-length': '0' }).end();
  }
}

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const raw = request.rawHeaders;
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const lower = raw[i]!.toLowerCase();
    if (lower === 'host' || HOP_BY_HOP.has(lower)) continue;
    headers.push(raw[i]!, raw[i + 1]!);
  }
  const method = request.method as Dispatcher.HttpMethod;
  pool.dispatch({ path: request.url!, method, headers, body }, new Relay(response));
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () =>
    forward(request, response, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
  );
});
server.requestTimeout = 0;
server.keepAliveTimeout = 60_000;
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
