import { type ErrorCode } from '@smg/protocol';
import { type ClientWriter } from './client.writer';
import { FlatResponseHead } from './core/response-head';
import { type GatewayReply } from './gateway-reply';
import { type RunParts } from './run.parts';
import { type AttemptOwner } from './upstream.attempt';

/** Sends an answer the gateway made, whole. The client may still be sending its body. */
export function writeAnswer(
  { request, head }: RunParts,
  writer: ClientWriter,
  { status, headers, body }: GatewayReply,
  code?: ErrorCode,
): void {
  const isUnread = head.hasBody && !request.complete;
  const closes = isUnread || code === 'connection_limit_reached';
  headers.push('content-length', String(Buffer.byteLength(body)));
  writer.head(status, headers, closes);
  const mayStillSend = isUnread && code !== 'request_body_stalled';
  if (mayStillSend && !head.expectsContinue) writer.endAndLinger(body);
  else writer.end(body);
}

/** An answer after dispatch: counted, and with what interceptors say of the worker. */
export function stampAnswer(
  { services, interceptors, exchange }: AttemptOwner,
  { status, headers }: GatewayReply,
  code: ErrorCode,
): void {
  services.metrics.minted(status, code);
  const head = new FlatResponseHead(status, false, headers);
  try {
    for (const interceptor of interceptors) interceptor.onHead(head, exchange);
  } catch (error) {
    // The error answer goes out without its stamp rather than not at all.
    const message = 'a response interceptor failed on an error answer';
    services.logFault(message, error, exchange.requestId);
  }
}
