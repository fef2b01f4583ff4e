import { GatewayError } from '@smg/protocol';
import { type BodyFailure } from './body.reader';
import { type ProxyOptions } from './proxy.options';

/** The answer to a client whose body did not arrive. */
export function bodyError(failure: BodyFailure, options: ProxyOptions): GatewayError {
  if (failure === 'stalled') {
    const message = `no byte of the body for ${options.bodyIdleTimeoutSecs} s`;
    return new GatewayError('request_body_stalled', message);
  }
  if (failure === 'aborted') {
    return new GatewayError('request_body_aborted', 'the body is not complete');
  }
  return bodyTooLarge(options);
}

export function bodyTooLarge({ maxPayloadSize }: ProxyOptions): GatewayError {
  const message = `the body is larger than ${maxPayloadSize} bytes`;
  return new GatewayError('request_body_too_large', message);
}
