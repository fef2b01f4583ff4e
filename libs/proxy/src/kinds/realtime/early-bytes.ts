import { type Duplex } from 'node:stream';

/** Bytes a client may send before it has an answer. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads on while an engine is asked: only who reads learns that a client has left. What comes is kept for
 * the engine, up to a bound.
 */
export class EarlyBytes {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly socket: Duplex,
    first: Buffer,
  ) {
    if (first.length > 0) this.onData(first);
    socket.on('data', this.onData);
    socket.on('end', this.onEnd);
    socket.resume();
  }

  /** Stops reading. @returns what came. */
  take(): Buffer {
    const { socket } = this;
    socket.off('data', this.onData);
    socket.off('end', this.onEnd);
    return Buffer.concat(this.chunks);
  }

  private readonly onData = (chunk: Buffer): void => {
    this.bytes += chunk.length;
    this.chunks.push(chunk);
    if (this.bytes > MAX_BYTES) this.socket.pause();
  };

  private readonly onEnd = (): void => {
    this.socket.destroy();
  };
}
