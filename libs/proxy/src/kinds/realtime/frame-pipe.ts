import { type Duplex } from 'node:stream';
import { closeFrame, FrameWatch } from '../core/frame-watch';

/** Told what happens on one way of a tunnel. */
export interface PipeOwner {
  /** Bytes moved, or a reader took some. */
  onProgress(): void;
}

/** One way of a tunnel: bytes as they come, at the pace of whoever reads them. */
export class FramePipe {
  private readonly watch = new FrameWatch();
  private leaving: Buffer | undefined;
  private isSilent = false;

  constructor(
    private readonly from: Duplex,
    private readonly to: Duplex,
    private readonly owner: PipeOwner,
  ) {}

  /** A Close frame has gone this way. */
  get sawClose(): boolean {
    return this.watch.sawClose;
  }

  /** @param first bytes that came with the handshake. */
  start(first?: Buffer): void {
    if (first !== undefined && first.length > 0) this.onData(first);
    this.from.on('data', this.onData);
    this.from.on('end', this.onEnd);
    this.to.on('drain', this.onDrain);
    this.from.resume();
  }

  /** Says Close as soon as no frame is in between, and nothing after it. @param mask for an engine. */
  leave(code: number, mask?: Buffer): void {
    if (this.isSilent || this.watch.sawClose || this.leaving !== undefined) return;
    this.leaving = closeFrame(code, mask);
    if (this.watch.isBetweenFrames) this.sayClose();
  }

  private readonly onData = (chunk: Buffer): void => {
    const end = this.watch.see(chunk);
    if (this.isSilent) return;
    if (this.leaving !== undefined && end !== -1) {
      this.to.write(chunk.subarray(0, end));
      this.sayClose();
      return;
    }
    this.owner.onProgress();
    if (!this.to.write(chunk)) this.from.pause();
  };

  private readonly onEnd = (): void => {
    this.to.end();
  };

  private readonly onDrain = (): void => {
    this.owner.onProgress();
    this.from.resume();
  };

  private sayClose(): void {
    this.isSilent = true;
    if (this.leaving !== undefined && this.to.writable) this.to.write(this.leaving);
  }
}
