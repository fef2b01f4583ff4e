const CLOSE = 0x8;
const MASKED = 0x80;
/** Two bytes, eight of length, four of mask. */
const MAX_HEAD = 14;

/**
 * Watches WebSocket frames go by one way, to know where one ends: only there can the gateway say
 * something itself. Payloads are not looked at.
 */
export class FrameWatch {
  /** A Close frame has gone by: nothing may follow it. */
  sawClose = false;
  private readonly head = Buffer.alloc(MAX_HEAD);
  private headBytes = 0;
  private payloadLeft = 0;

  /** The bytes so far end where a frame does. */
  get isBetweenFrames(): boolean {
    return this.headBytes === 0 && this.payloadLeft === 0;
  }

  /** @returns offset behind the first frame that ends in this chunk; -1 when none does. */
  see(chunk: Buffer): number {
    let first = -1;
    let at = 0;
    while (at < chunk.length) {
      at = this.payloadLeft > 0 ? this.skip(chunk, at) : this.readHead(chunk, at);
      if (first === -1 && this.isBetweenFrames) first = at;
    }
    return first;
  }

  private skip(chunk: Buffer, at: number): number {
    const bytes = Math.min(this.payloadLeft, chunk.length - at);
    this.payloadLeft -= bytes;
    return at + bytes;
  }

  private readHead(chunk: Buffer, at: number): number {
    this.head[this.headBytes] = chunk[at] ?? 0;
    this.headBytes += 1;
    if (this.headBytes >= 2 && this.headBytes === this.headSize()) {
      if (((this.head[0] ?? 0) & 0x0f) === CLOSE) this.sawClose = true;
      this.payloadLeft = this.payloadSize();
      this.headBytes = 0;
    }
    return at + 1;
  }

  private headSize(): number {
    const second = this.head[1] ?? 0;
    const short = second & ~MASKED;
    const length = short === 126 ? 2 : short === 127 ? 8 : 0;
    return 2 + length + ((second & MASKED) === 0 ? 0 : 4);
  }

  private payloadSize(): number {
    const short = (this.head[1] ?? 0) & ~MASKED;
    if (short === 126) return this.head.readUInt16BE(2);
    return short === 127 ? Number(this.head.readBigUInt64BE(2)) : short;
  }
}

/** A Close frame. @param mask four bytes; what a client sends must be masked. */
export function closeFrame(code: number, mask?: Buffer): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  if (mask === undefined) return Buffer.from([0x80 | CLOSE, payload.length, ...payload]);
  const masked = payload.map((byte, at) => byte ^ (mask[at] ?? 0));
  return Buffer.from([0x80 | CLOSE, MASKED | payload.length, ...mask, ...masked]);
}
