import { connect, type Socket } from 'node:net';

/** A connection that sends `head` and then a byte every `everyMs`; resolves when it is cut. */
export function trickle(
  port: number,
  head: string,
  everyMs: number,
): { readonly done: Promise<{ text: string; afterMs: number }>; readonly stop: () => void } {
  const startedAt = performance.now();
  const socket: Socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(head);
  const timer = setInterval(() => socket.write('x'), everyMs);
  const done = new Promise<{ text: string; afterMs: number }>((resolve) => {
    let text = '';
    socket.on('data', (data) => (text += data.toString('latin1')));
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ text, afterMs: performance.now() - startedAt });
    });
  });
  return { done, stop: () => socket.destroy() };
}

/** Start of a chat request, up to the blank line. */
export const slowHead = (...lines: readonly string[]) =>
  [
    `POST /v1/chat/completions HTTP/1.1`,
    'Host: g',
    'Content-Type: application/json',
    ...lines,
  ].join('\r\n');
