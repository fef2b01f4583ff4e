const HEAD_END = Buffer.from('\r\n\r\n');
const CRLF = Buffer.from('\r\n');
const EMPTY = Buffer.alloc(0);
/** Longest head accepted, bytes. */
const MAX_HEAD_BYTES = 16_384;

type State = 'head' | 'body' | 'chunk-size' | 'chunk-data' | 'trailer';

/**
 * Finds the ends of HTTP/1.1 responses in a byte stream: Content-Length or chunked. It is the load
 * generator's inner loop, so it looks at nothing it does not need.
 */
export class ResponseReader {
  private state: State = 'head';
  private pending: Buffer = EMPTY;
  /** Body or chunk bytes still to come. */
  private remaining = 0;
  private status = 0;

  /** @param onResponse called at the last byte of each response. */
  constructor(private readonly onResponse: (status: number) => void) {}

  /** @throws Error when the bytes are no HTTP response with a known end. */
  push(chunk: Buffer): void {
    let data = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    this.pending = EMPTY;
    while (data.length > 0) {
      const rest = this.step(data);
      if (rest === undefined) {
        this.pending = data;
        return;
      }
      data = rest;
    }
  }

  /** Consumes one element. @returns what follows it, or undefined when it is not complete yet. */
  private step(data: Buffer): Buffer | undefined {
    switch (this.state) {
      case 'head':
        return this.readHead(data);
      case 'body':
        return this.skip(data, 'head');
      case 'chunk-size':
        return this.readChunkSize(data);
      case 'chunk-data':
        return this.skip(data, 'chunk-size');
      case 'trailer':
        return this.readTrailer(data);
    }
  }

  private readHead(data: Buffer): Buffer | undefined {
    const end = data.indexOf(HEAD_END);
    if (end < 0) {
      if (data.length > MAX_HEAD_BYTES) throw new Error('response head too long');
      return undefined;
    }
    const head = data.toString('latin1', 0, end);
    this.status = statusOf(head);
    const rest = data.subarray(end + 4);
    if (this.status < 200) return rest;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length !== null) {
      this.remaining = Number(length[1]);
      if (this.remaining === 0) this.complete();
      else this.state = 'body';
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.state = 'chunk-size';
    } else {
      throw new Error(`response without a length (status ${this.status})`);
    }
    return rest;
  }

  private skip(data: Buffer, next: State): Buffer {
    if (data.length < this.remaining) {
      this.remaining -= data.length;
      return EMPTY;
    }
    const rest = data.subarray(this.remaining);
    this.remaining = 0;
    if (next === 'head') this.complete();
    else this.state = next;
    return rest;
  }

  private readChunkSize(data: Buffer): Buffer | undefined {
    const end = data.indexOf(CRLF);
    if (end < 0) return undefined;
    const size = Number.parseInt(data.toString('latin1', 0, end), 16);
    if (!Number.isInteger(size)) throw new Error('bad chunk size');
    if (size === 0) {
      this.state = 'trailer';
    } else {
      this.remaining = size + 2;
      this.state = 'chunk-data';
    }
    return data.subarray(end + 2);
  }

  private readTrailer(data: Buffer): Buffer | undefined {
    const end = data.indexOf(CRLF);
    if (end < 0) return undefined;
    if (end === 0) this.complete();
    return data.subarray(end + 2);
  }

  private complete(): void {
    this.state = 'head';
    this.onResponse(this.status);
  }
}

/** Status of a response head. @throws Error when it is none. */
export function statusOf(head: string): number {
  const status = Number(head.slice(9, 12));
  if (!head.startsWith('HTTP/1.') || !(status >= 100)) throw new Error('not an HTTP/1.1 response');
  return status;
}
