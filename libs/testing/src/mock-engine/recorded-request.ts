import { type IncomingMessage } from 'node:http';

/** One request as the engine saw it. */
export class RecordedRequest {
  readonly method: string;
  /** Raw request target, query included. */
  readonly path: string;
  /** Path without query. */
  readonly route: string;
  readonly query: URLSearchParams;
  /** Names and values alternating, as received: case, order and repeats kept. */
  readonly headers: readonly string[];
  /** Client side of the connection, `host:port`: tells reused connections from new ones. */
  readonly connection: string;
  /** `performance.now()` when the head arrived. */
  readonly at: number;
  /** Empty until the body was read. */
  body: Buffer = Buffer.alloc(0);
  /** The whole body arrived. */
  complete = false;
  /** Status answered with; undefined while unanswered and for raw answers. */
  status: number | undefined;
  /** The answer was sent to its end. */
  finished = false;
  /** The client closed before the answer was sent to its end. */
  aborted = false;

  constructor(request: IncomingMessage) {
    this.method = request.method ?? '';
    this.path = request.url ?? '';
    const question = this.path.indexOf('?');
    this.route = question === -1 ? this.path : this.path.slice(0, question);
    this.query = new URLSearchParams(question === -1 ? '' : this.path.slice(question + 1));
    this.headers = request.rawHeaders;
    this.connection = `${request.socket.remoteAddress ?? ''}:${request.socket.remotePort ?? 0}`;
    this.at = performance.now();
  }

  /** Every value of a header, in order; `name` in any case. */
  values(name: string): readonly string[] {
    const wanted = name.toLowerCase();
    const found: string[] = [];
    for (let at = 0; at + 1 < this.headers.length; at += 2) {
      if (this.headers[at]?.toLowerCase() === wanted) found.push(this.headers[at + 1] ?? '');
    }
    return found;
  }

  /** First value of a header. */
  header(name: string): string | undefined {
    return this.values(name)[0];
  }

  /** The body as JSON. @throws SyntaxError */
  json(): unknown {
    return JSON.parse(this.body.toString('utf8')) as unknown;
  }

  /** The body as a JSON object; undefined when it is anything else. */
  jsonObject(): Record<string, unknown> | undefined {
    try {
      const value = this.json();
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? (value as Record<string, unknown>)
        : undefined;
    } catch {
      return undefined;
    }
  }
}
