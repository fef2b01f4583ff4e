import { type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { type BodyFailure } from '../body.reader';

/** Bytes read ahead of the engine. */
const READ_AHEAD_BYTES = 64 * 1024;

/**
 * A client's upload on its way to an engine, chunk by chunk: it is read as fast as the engine takes it.
 * The stall clock runs only while the engine could take more and the client sends nothing.
 */
export class UploadStream extends Readable {
  private timer: NodeJS.Timeout | undefined;
  private isListening = false;
  private isOver = false;

  /** @param stallMs longest wait for the client; 0 waits for ever. */
  constructor(
    private readonly request: IncomingMessage,
    private readonly stallMs: number,
    private readonly onFailure: (failure: BodyFailure) => void,
  ) {
    super({ highWaterMark: READ_AHEAD_BYTES });
    // Destroyed with an error by whoever writes it to the engine, who reports it as well.
    this.on('error', ignore);
  }

  override _read(): void {
    if (this.isOver) return;
    this.listen();
    if (this.stallMs > 0 && this.timer === undefined) {
      this.timer = setTimeout(this.onStall, this.stallMs);
    }
    this.request.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.finish();
    callback(error);
  }

  private listen(): void {
    if (this.isListening) return;
    this.isListening = true;
    const { request } = this;
    request.on('data', this.onChunk);
    request.on('end', this.onEnd);
    // Comes before the response closes, which ends everything.
    request.on('aborted', this.onAborted);
    request.on('close', this.onAborted);
  }

  private readonly onChunk = (chunk: Buffer): void => {
    if (this.push(chunk)) {
      this.timer?.refresh();
      return;
    }
    // The engine is behind: the client is not to blame for what does not arrive now.
    this.stopClock();
    this.request.pause();
  };

  private readonly onEnd = (): void => {
    this.finish();
    this.push(null);
  };

  private readonly onAborted = (): void => {
    this.fail('aborted');
  };

  private readonly onStall = (): void => {
    this.fail('stalled');
  };

  private fail(failure: BodyFailure): void {
    if (this.isOver) return;
    this.finish();
    this.onFailure(failure);
  }

  private stopClock(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private finish(): void {
    this.isOver = true;
    this.stopClock();
    if (!this.isListening) return;
    const { request } = this;
    request.off('data', this.onChunk);
    request.off('end', this.onEnd);
    request.off('aborted', this.onAborted);
    request.off('close', this.onAborted);
    request.pause();
  }
}

function ignore(): void {
  // The exchange reports it.
}
