import { type UpstreamFailure, type UpstreamHandler } from '@smg/upstream';

/** Passes an exchange through and says when the first byte of its body comes. */
export class FirstByteTap implements UpstreamHandler {
  private hasBegun = false;

  constructor(
    private readonly reader: UpstreamHandler,
    private readonly begun: () => void,
  ) {}

  onHead(status: number, rawHeaders: readonly string[]): void {
    this.reader.onHead(status, rawHeaders);
  }

  onData(chunk: Buffer): boolean {
    if (!this.hasBegun) {
      this.hasBegun = true;
      this.begun();
    }
    return this.reader.onData(chunk);
  }

  onEnd(): void {
    this.reader.onEnd();
  }

  onError(failure: UpstreamFailure): void {
    this.reader.onError(failure);
  }

  onResend(): boolean {
    return this.reader.onResend?.() !== false;
  }
}
