import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';

/** Listeners of pipelined answers that have no connection yet, by the connection they wait for. */
const waiting = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `listener` once, when the response is over: sent whole, cut, or its client gone. A pipelined
 * answer that still waits for its turn has no socket and hears nothing of its end, so the
 * connection is watched as well; with one listener, however many answers wait.
 */
export function onResponseOver(
  request: IncomingMessage,
  response: ServerResponse,
  listener: () => void,
): void {
  if (response.socket !== null) {
    response.once('close', listener);
    return;
  }
  const queue = queueOf(request.socket);
  const over = (): void => {
    queue.delete(over);
    response.off('close', over);
    listener();
  };
  queue.add(over);
  response.once('close', over);
}

function queueOf(socket: Socket): Set<() => void> {
  const known = waiting.get(socket);
  if (known !== undefined) return known;
  const queue = new Set<() => void>();
  waiting.set(socket, queue);
  socket.once('close', () => {
    for (const over of [...queue]) over();
  });
  return queue;
}
