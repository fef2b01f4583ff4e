import { type Lifecycle } from '@smg/plugin-api';
import { type IncomingMessage, type ServerResponse } from 'node:http';

/** Milliseconds, and bytes, for which a refused upload is still read, so that the answer arrives. */
const LINGER_MS = 1000;
const LINGER_BYTES = 4 * 1024 * 1024;

/** Milliseconds between the last bytes and a reset. */
const RESET_DELAY_MS = 20;

/** Told when the client reads again. */
export interface WritableListener {
  onWritable(): void;
}

/**
 * The client's side of one exchange: head, chunks with back-pressure, a clean end or a visible break.
 * A client that stops reading while bytes wait for it is cut after the stall time.
 */
export class ClientWriter {
  headSent = false;
  /** The answer broke off after its head. */
  truncated = false;
  status = 0;
  /** The client may still be sending when an answer begins: its body is passed on unread. */
  isUploading = false;
  private ended = false;
  private waiting = false;
  private timer: NodeJS.Timeout | undefined;
  private queuedBefore = 0;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    /** 0 waits for ever. */
    private readonly stallMs: number,
    private readonly listener: WritableListener,
    private readonly lifecycle: Lifecycle,
  ) {
    // Writing to a connection that just went away must not become an uncaught error.
    response.on('error', ignore);
    request.on('error', ignore);
  }

  /** @param closes the connection serves no further request; so it is while the process drains. */
  head(status: number, headers: string[], closes = false): void {
    this.headSent = true;
    this.status = status;
    if (closes || this.lifecycle.isDraining || this.hasUnreadUpload)
      headers.push('connection', 'close');
    this.response.writeHead(status, headers);
  }

  /** @returns false when the client should read first; `onWritable` follows. */
  write(chunk: Buffer): boolean {
    if (this.response.destroyed || this.ended) return true;
    if (this.response.write(chunk)) return true;
    if (!this.waiting) {
      this.waiting = true;
      this.response.once('drain', this.onDrain);
      this.watchStall();
    }
    return false;
  }

  /** Sends what a head alone would hold back until the first byte. */
  flushHead(): void {
    if (!this.response.destroyed) this.response.flushHeaders();
  }

  end(last?: Buffer | string): void {
    if (this.ended || this.response.destroyed) return;
    if (this.hasUnreadUpload) {
      this.endAndLinger(last);
      return;
    }
    this.ended = true;
    if (last === undefined) this.response.end();
    else this.response.end(last);
    // Bytes still in the socket: the client is behind, and no drain event follows an end.
    if ((this.response.socket?.writableLength ?? 0) > 0) this.watchStall();
  }

  /** Ends in a way no client can take for complete. @param event sent first, as the last event. */
  truncate(event: string | undefined): void {
    if (this.ended || this.response.destroyed) return;
    this.ended = true;
    this.truncated = true;
    if (event === undefined) {
      this.cut();
      return;
    }
    this.response.write(event, () => {
      this.cut();
    });
    this.watchStall();
  }

  /**
   * Answers while the client may still be sending, then reads on for a moment: closing at once would
   * reset the connection and could destroy the answer on its way.
   */
  endAndLinger(body: Buffer | string | undefined): void {
    if (this.ended || this.response.destroyed) return;
    this.ended = true;
    const { request, response } = this;
    if (body !== undefined) response.write(body);
    let bytes = 0;
    const finish = (): void => {
      clearTimeout(this.timer);
      request.removeAllListeners('data');
      response.end();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LINGER_BYTES) finish();
    });
    request.once('end', finish);
    request.resume();
    this.timer = setTimeout(finish, LINGER_MS);
  }

  /** The connection is gone or the exchange over: no timer stays. */
  dispose(): void {
    clearTimeout(this.timer);
    this.ended = true;
    this.response.off('drain', this.onDrain);
  }

  private get hasUnreadUpload(): boolean {
    return this.isUploading && !this.request.complete;
  }

  private readonly onDrain = (): void => {
    this.waiting = false;
    if (!this.ended) clearTimeout(this.timer);
    this.listener.onWritable();
  };

  private watchStall(): void {
    clearTimeout(this.timer);
    if (this.stallMs <= 0) return;
    this.queuedBefore = this.queuedInKernel();
    this.timer = setTimeout(this.onStall, this.stallMs);
  }

  private readonly onStall = (): void => {
    // A slow reader is not a stalled one: any byte taken since buys it as long again.
    if (this.queuedInKernel() === this.queuedBefore) this.response.destroy();
    else this.watchStall();
  };

  /** Bytes handed to the system and not yet taken; Node's own socket timeout looks at the same figure. */
  private queuedInKernel(): number {
    const socket = this.response.socket as { _handle?: { writeQueueSize?: number } | null } | null;
    return socket?._handle?.writeQueueSize ?? 0;
  }

  private cut(): void {
    const { socket } = this.response;
    if (this.request.httpVersionMinor > 0 || socket === null) {
      this.response.destroy();
      return;
    }
    // HTTP/1.0 ends a body by closing: only a reset tells such a client that bytes are missing. One
    // that arrives together with the last bytes is taken for a plain end by some clients.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => socket.resetAndDestroy(), RESET_DELAY_MS);
  }
}

function ignore(): void {
  // 'close' follows and settles the exchange.
}
