import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Behaviour, type Cut } from './behaviour';
import { type RecordedRequest } from './recorded-request';
import { sleep } from './sleep';

type HeaderInput = readonly string[] | Readonly<Record<string, string>>;

const flat = (headers: HeaderInput): readonly string[] =>
  Array.isArray(headers) ? (headers as readonly string[]) : Object.entries(headers).flat();

/**
 * The one way an engine writes to a client. Applies a behaviour's extra headers and cut, waits for a
 * slow reader, and turns a client that left into `signal`.
 */
export class Answer {
  /** Fires when the client leaves, the answer is cut, or the engine stops. */
  readonly signal: AbortSignal;
  private readonly gone = new AbortController();
  private readonly cut: Cut | undefined;
  private bodyBytes = 0;
  private isCut = false;

  constructor(
    readonly request: RecordedRequest,
    private readonly incoming: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly behaviour: Behaviour | undefined,
  ) {
    this.signal = this.gone.signal;
    this.cut = behaviour?.cut;
    response.sendDate = false;
    response.once('close', () => {
      request.finished = response.writableFinished && !this.isCut;
      request.aborted = !response.writableFinished && !this.isCut;
      this.gone.abort();
    });
    // A reset while we write is the client's business, not a fault of the process.
    response.on('error', () => {
      this.gone.abort();
    });
  }

  get headSent(): boolean {
    return this.response.headersSent;
  }

  /** Whether nothing more can be said to this client. */
  get isOver(): boolean {
    return this.gone.signal.aborted || this.isCut;
  }

  /** Ends the wait of everything that hangs on this answer. */
  abandon(): void {
    this.gone.abort();
  }

  /** Writes the head. @param framing `close` ends the body by closing the connection. */
  async head(
    status: number,
    headers: HeaderInput,
    framing: 'length' | 'chunked' | 'close' = 'chunked',
  ): Promise<void> {
    if (this.isOver) return;
    this.request.status = status;
    const response = this.response;
    const list = [...flat(headers), ...flat(this.behaviour?.headers ?? {})];
    if (framing === 'close') {
      // Removing what was never set still keeps Node from adding it.
      response.removeHeader('transfer-encoding');
      response.removeHeader('content-length');
      response.shouldKeepAlive = false;
      list.push('Connection', 'close');
    } else if (response.shouldKeepAlive) {
      // Said explicitly, or Node adds a `Keep-Alive: timeout` hint that engines do not give.
      list.push('Connection', 'keep-alive');
    }
    response.writeHead(status, [...list]);
    response.flushHeaders();
    if (this.cut?.at === 'head') await this.perform(this.cut);
  }

  /** Writes body bytes; resolves when the client took them or left. */
  async write(data: string | Buffer): Promise<void> {
    if (this.isOver) return;
    let bytes = typeof data === 'string' ? Buffer.from(data) : data;
    const limit = typeof this.cut?.at === 'number' ? this.cut.at : Infinity;
    const cutNow = this.bodyBytes + bytes.length >= limit;
    if (cutNow) bytes = bytes.subarray(0, limit - this.bodyBytes);
    this.bodyBytes += bytes.length;
    if (bytes.length > 0 && !this.response.write(bytes)) await this.drained();
    if (cutNow && this.cut !== undefined) await this.perform(this.cut);
  }

  async end(data?: string | Buffer): Promise<void> {
    if (data !== undefined) await this.write(data);
    if (!this.isOver) this.response.end();
  }

  /** A complete answer with a length. */
  async send(
    status: number,
    type: string,
    body: string | Buffer,
    more: HeaderInput = [],
  ): Promise<void> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const headers = ['content-length', String(bytes.length), ...flat(more)];
    if (type !== '') headers.unshift('content-type', type);
    if (this.cut === undefined) {
      if (this.isOver) return;
      this.request.status = status;
      headers.push(...flat(this.behaviour?.headers ?? {}));
      if (this.response.shouldKeepAlive) headers.push('Connection', 'keep-alive');
      this.response.writeHead(status, headers);
      this.response.end(bytes);
      return;
    }
    await this.head(status, headers, 'length');
    await this.end(bytes);
  }

  json(status: number, value: unknown, headers: HeaderInput = []): Promise<void> {
    return this.send(status, 'application/json', JSON.stringify(value), headers);
  }

  /** Bytes straight onto the connection, which then closes. */
  async raw(bytes: string | Buffer, more: readonly (string | Buffer)[] = []): Promise<void> {
    const socket = this.incoming.socket;
    socket.write(bytes);
    for (const part of more) {
      await sleep(1, this.signal);
      if (this.isOver) return;
      socket.write(part);
    }
    socket.end();
  }

  async perform(cut: Cut): Promise<void> {
    const socket = this.incoming.socket;
    await sleep(cut.delayMs ?? 5, this.signal);
    if (this.isOver) return;
    this.isCut = true;
    if (cut.how === 'reset') socket.resetAndDestroy();
    if (cut.how === 'fin') socket.end();
    if (cut.how === 'hang') return;
    this.gone.abort();
  }

  private drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.response.off('drain', done);
        this.signal.removeEventListener('abort', done);
        resolve();
      };
      this.response.once('drain', done);
      this.signal.addEventListener('abort', done, { once: true });
    });
  }
}
