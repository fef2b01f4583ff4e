import { STATUS_CODES } from 'node:http';
import { type Duplex } from 'node:stream';

/** Milliseconds a client has for taking its answer. */
const LAST_BYTES_MS = 1000;

/** The head of an answer on a connection that Node's HTTP server has let go. @param headers flat list. */
export function rawHead(status: number, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${text}\r\n`;
}

/** Answers and closes: what the client may have sent after its handshake is no HTTP. */
export function answerRaw(
  socket: Duplex,
  status: number,
  headers: readonly string[],
  body: Buffer | string,
): void {
  const length = String(Buffer.byteLength(body));
  const all = [...headers, 'content-length', length, 'connection', 'close'];
  socket.write(Buffer.from(rawHead(status, all), 'latin1'));
  socket.end(body);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LAST_BYTES_MS);
  socket.once('close', () => {
    clearTimeout(timer);
  });
}
