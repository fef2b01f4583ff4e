import { WebSocket } from 'undici';

/** What became of one WebSocket. */
export class WebSocketClient {
  readonly messages: string[] = [];
  closed: { code: number; reason: string; wasClean: boolean } | undefined;
  isOpen = false;
  hasFailed = false;
  readonly socket: WebSocket;

  constructor(
    url: string,
    options: { headers?: Record<string, string>; protocols?: string[] } = {},
  ) {
    this.socket = new WebSocket(url.replace(/^http/, 'ws'), {
      protocols: options.protocols ?? [],
      headers: options.headers ?? {},
    });
    this.socket.addEventListener('open', () => {
      this.isOpen = true;
    });
    this.socket.addEventListener('message', ({ data }) => this.messages.push(String(data)));
    this.socket.addEventListener('error', () => {
      this.hasFailed = true;
    });
    this.socket.addEventListener('close', ({ code, reason, wasClean }) => {
      this.closed = { code, reason, wasClean };
    });
  }
}

/** Headers of a handshake, as text. */
export const handshake = (target: string, ...more: readonly string[]): string =>
  [
    `GET ${target} HTTP/1.1`,
    'Host: gateway',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...more,
    '',
    '',
  ].join('\r\n');
