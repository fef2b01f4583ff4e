import { createHash } from 'node:crypto';
import { type Duplex } from 'node:stream';
import { type RecordedRequest } from './recorded-request';

const ACCEPT_SALT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 0x1;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

/** A frame as it came. */
export interface ReceivedFrame {
  readonly opcode: number;
  readonly isMasked: boolean;
  readonly payload: Buffer;
}

/** An unmasked frame. */
export function webSocketFrame(opcode: number, payload: Buffer | string): Buffer {
  const bytes = Buffer.from(payload);
  const long = bytes.length > 0xffff;
  const head = Buffer.alloc(bytes.length < 126 ? 2 : long ? 10 : 4);
  head[0] = 0x80 | opcode;
  head[1] = bytes.length < 126 ? bytes.length : long ? 127 : 126;
  if (long) head.writeBigUInt64BE(BigInt(bytes.length), 2);
  else if (head.length === 4) head.writeUInt16BE(bytes.length, 2);
  return Buffer.concat([head, bytes]);
}

/**
 * The engine's end of a WebSocket: repeats texts, answers pings and closes, and keeps what it got. A test
 * may send, close or cut besides.
 */
export class MockWebSocket {
  readonly frames: ReceivedFrame[] = [];
  /** Code of the Close frame that came. */
  closeCode: number | undefined;
  /** The connection is gone. */
  isOver = false;
  /** Repeats what it gets. */
  isEcho = true;
  private pending: Buffer = Buffer.alloc(0);

  constructor(
    readonly request: RecordedRequest,
    readonly socket: Duplex,
    early: Buffer,
  ) {
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.isOver = true;
    });
    socket.once('end', () => socket.end());
    socket.on('data', (chunk: Buffer) => {
      this.take(chunk);
    });
    if (early.length > 0) this.take(early);
  }

  /** Text messages, in order. */
  get texts(): readonly string[] {
    return this.frames.filter((it) => it.opcode === TEXT).map((it) => it.payload.toString());
  }

  send(text: string): void {
    this.socket.write(webSocketFrame(TEXT, text));
  }

  ping(payload = ''): void {
    this.socket.write(webSocketFrame(PING, payload));
  }

  close(code: number, reason = ''): void {
    const payload = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]);
    this.socket.write(webSocketFrame(CLOSE, payload));
  }

  private take(chunk: Buffer): void {
    this.pending = Buffer.concat([this.pending, chunk]);
    for (let frame = this.next(); frame !== undefined; frame = this.next()) this.answer(frame);
  }

  private answer(frame: ReceivedFrame): void {
    this.frames.push(frame);
    const { opcode, payload } = frame;
    if (opcode === PING) this.socket.write(webSocketFrame(PONG, payload));
    else if (opcode === CLOSE) {
      this.closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
      this.socket.end(webSocketFrame(CLOSE, payload));
    } else if (this.isEcho && opcode !== PONG) {
      this.socket.write(webSocketFrame(opcode, payload));
    }
  }

  private next(): ReceivedFrame | undefined {
    const { pending } = this;
    if (pending.length < 2) return undefined;
    const second = pending[1] ?? 0;
    const isMasked = (second & 0x80) !== 0;
    const short = second & 0x7f;
    let at = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (pending.length < at) return undefined;
    const length =
      short === 127
        ? Number(pending.readBigUInt64BE(2))
        : short === 126
          ? pending.readUInt16BE(2)
          : short;
    const mask = pending.subarray(at, at + 4);
    if (isMasked) at += 4;
    if (pending.length < at + length) return undefined;
    const payload = Buffer.from(pending.subarray(at, at + length));
    if (isMasked)
      for (let i = 0; i < length; i += 1) payload[i] = (payload[i] ?? 0) ^ (mask[i % 4] ?? 0);
    this.pending = pending.subarray(at + length);
    return { opcode: (pending[0] ?? 0) & 0x0f, isMasked, payload };
  }
}

/** The engine's 101. @param accept in place of the right one. */
export function acceptWebSocket(request: RecordedRequest, accept?: string): string {
  const key = request.header('sec-websocket-key') ?? '';
  const right = createHash('sha1')
    .update(key + ACCEPT_SALT)
    .digest('base64');
  const [protocol] = (request.header('sec-websocket-protocol') ?? '').split(',');
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept ?? right}`,
    'X-Smg-Routed-Worker-Id: forged',
    'Set-Cookie: engine=1',
  ];
  if (protocol !== undefined && protocol !== '')
    lines.push(`Sec-WebSocket-Protocol: ${protocol.trim()}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
