import { connect, type Socket } from 'node:net';

/** What came back over one connection. */
export interface RawAnswer {
  /** Latin-1, as on the wire. */
  readonly text: string;
  /** How the connection ended; `open` when it had not within the time. */
  readonly end: 'fin' | 'reset' | 'open';
  /** Milliseconds until it ended. */
  readonly afterMs: number;
}

export interface RawOptions {
  /** Milliseconds; default 3,000. */
  readonly timeoutMs?: number;
  /** Resolve as soon as the text has this. */
  readonly untilText?: string | RegExp;
}

/** Sends exact bytes over a connection of its own and collects what comes back. */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  options: RawOptions = {},
): Promise<RawAnswer> {
  return listenTo(connect(port, '127.0.0.1'), bytes, options);
}

function listenTo(socket: Socket, bytes: string | Buffer, options: RawOptions): Promise<RawAnswer> {
  const startedAt = performance.now();
  const { timeoutMs = 3_000, untilText } = options;
  return new Promise((resolve) => {
    let text = '';
    let wasReset = false;
    let wasOpen = false;
    const timer = setTimeout(() => {
      wasOpen = true;
      socket.destroy();
    }, timeoutMs);
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      text += data.toString('latin1');
      const isEnough =
        untilText !== undefined &&
        (typeof untilText === 'string' ? text.includes(untilText) : untilText.test(text));
      if (!isEnough) return;
      wasOpen = true;
      socket.destroy();
    });
    socket.on('error', () => {
      wasReset = true;
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({
        text,
        end: wasOpen ? 'open' : wasReset ? 'reset' : 'fin',
        afterMs: performance.now() - startedAt,
      });
    });
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
}

/** Status of the first answer; 0 without one. */
export function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0);
}

/** Statuses of the answers, in order. */
export function statusesIn(text: string): number[] {
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}

/** How many answers came back. */
export function answersIn(text: string): number {
  return statusesIn(text).length;
}

/** A POST as text, framed by Content-Length. */
export function rawPost(path: string, body: string, headers: readonly string[] = []): string {
  return [
    `POST ${path} HTTP/1.1`,
    'Host: gateway',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}
