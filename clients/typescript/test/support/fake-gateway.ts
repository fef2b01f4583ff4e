import { createServer, type Server } from 'node:http';
import { type AddressInfo, type Socket } from 'node:net';

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  /** Path and query, raw. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests reach into bodies of any shape
  readonly json: any;
}

/** What to answer. */
export interface Reply {
  readonly status?: number;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes to send instead of everything else, before the connection ends. */
  readonly raw?: string;
  /** Nothing more is sent after the head. */
  readonly hang?: 'before-head' | 'after-head';
}

/** A gateway that answers what it is told, for answers a real one would not give. */
export class FakeGateway {
  readonly seen: Seen[] = [];
  /** Answers to come, one after the other; the last one for ever. */
  replies: Reply[] = [{ body: {} }];
  /** Connections that clients closed before they had an answer. */
  hangUps = 0;
  /** Connections so far. */
  connections = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const { method = '', url: target = '', headers } = incoming;
        const text = Buffer.concat(chunks).toString();
        const { pathname, searchParams } = new URL(target, 'http://fake');
        this.seen.push({
          method,
          target,
          path: pathname,
          query: searchParams,
          headers,
          text,
          get json() {
            return JSON.parse(text);
          },
        });
        const reply = (this.replies.length > 1 ? this.replies.shift() : this.replies[0]) ?? {};
        outgoing.on('close', () => {
          if (!outgoing.writableFinished) this.hangUps += 1;
        });
        if (reply.raw !== undefined) {
          outgoing.socket?.end(reply.raw);
          return;
        }
        if (reply.hang === 'before-head') return;
        const { body = '' } = reply;
        outgoing.writeHead(reply.status ?? 200, {
          'content-type': 'application/json',
          ...reply.headers,
        });
        if (reply.hang === 'after-head') {
          outgoing.write('{"workers":');
          return;
        }
        outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
      });
    });
    this.#server.on('connection', (socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get last(): Seen {
    const last = this.seen.at(-1);
    if (last === undefined) throw new Error('nothing arrived');
    return last;
  }

  /** Answers bodies with 200. */
  answer(...bodies: unknown[]): void {
    this.replies = bodies.map((body) => ({ body }));
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** A row of the discovery answer, complete. */
export const rowOf = (id = 'w1', members: object = {}): Record<string, unknown> => ({
  id,
  url: 'http://a:1@0',
  base_url: 'http://a:1',
  engine: 'sglang',
  engine_version: '0.5',
  model_id: 'm',
  worker_type: 'regular',
  connection_mode: 'http',
  tp_size: 2,
  dp_size: null,
  pp_size: null,
  dp_ranks: 1,
  role: null,
  health: 'ready',
  weight_version: '9',
  version_source: 'api',
  control: 'paused',
  labels: { tp_size: '2' },
  capabilities: {
    source: 'static',
    pause_modes: ['abort'],
    update_from: ['disk'],
    abort: true,
    flush_cache: true,
    sleep_wake: true,
    reports_weight_version: true,
  },
  ...members,
});

export const outcomeOf = (workerId = 'w1', members: object = {}): Record<string, unknown> => ({
  worker_id: workerId,
  url: `http://${workerId}:1`,
  status: 200,
  latency_ms: 3,
  body: { success: true },
  ...members,
});

export const failureOf = (workerId: string, members: object = {}): Record<string, unknown> => ({
  worker_id: workerId,
  url: `http://${workerId}:1`,
  error: 'upstream_unreachable',
  message: 'gone',
  ...members,
});

/** The answer of a fan-out. */
export const reportOf = (ok: readonly string[], failed: readonly object[] = []): object => ({
  results: Object.fromEntries(ok.map((id) => [id, outcomeOf(id)])),
  failed,
  total: ok.length + failed.length,
  succeeded: ok.length,
});
