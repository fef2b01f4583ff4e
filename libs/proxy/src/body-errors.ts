import { type ClientHead } from './core/client-head';
import { GatewayError } from '@smg/protocol';
import { type BodyFailure } from './body.reader';
import { type OutgoingBody } from './kinds/outgoing-body';
import { type ProxyOptions } from './proxy.options';

/** The answer to a client whose body did not arrive. @param body what was read, or is passed on. */
export function bodyError(
  failure: BodyFailure,
  options: ProxyOptions,
  body: OutgoingBody,
): GatewayError {
  if (failure === 'stalled') {
    const isPassedOn = body.unreadBytes > 0;
    const seconds = isPassedOn ? options.streamStallTimeoutSecs : options.bodyIdleTimeoutSecs;
    const message = `no byte of the body for ${seconds} s`;
    return new GatewayError('request_body_stalled', message);
  }
  if (failure === 'aborted') {
    return new GatewayError('request_body_aborted', 'the body is not complete');
  }
  return bodyTooLarge(options);
}

function bodyTooLarge({ maxPayloadSize }: ProxyOptions): GatewayError {
  const message = `the body is larger than ${maxPayloadSize} bytes`;
  return new GatewayError('request_body_too_large', message);
}

/** The error of a body that says itself that it is too large. */
export function declaredTooLarge(
  { contentLength }: ClientHead,
  options: ProxyOptions,
): GatewayError | undefined {
  return contentLength > options.maxPayloadSize ? bodyTooLarge(options) : undefined;
}
