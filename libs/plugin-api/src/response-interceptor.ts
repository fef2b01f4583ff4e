import { type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { type Observable } from 'rxjs';
import { defineExtensionPoint } from './extension-point';
import { type Exchange, type ResponseHead } from './exchange';

const ATTACHED: unique symbol = Symbol.for('smg.response-interceptors');

interface Carrier {
  [ATTACHED]?: ResponseInterceptor[] | undefined;
}

/**
 * Stamps what a worker's answer carries. It is a Nest interceptor with a synchronous face: the data
 * plane calls the face directly; on a route that runs through Nest's own pipeline, `intercept` hands
 * the interceptor to the relay of that request, which then calls the same face.
 *
 * A throw fails the request with `internal_error` before anything is sent; nothing is skipped.
 */
export abstract class ResponseInterceptor implements NestInterceptor {
  /** Unique. */
  abstract readonly name: string;
  /** Ascending; ties by name. The gateway's own: routed-worker 100, weight-version 200. */
  abstract readonly order: number;

  /** An attempt is about to be dispatched to `exchange.routedWorker`. */
  onDispatch(_exchange: Exchange): void {
    // Most interceptors have nothing to remember.
  }

  /**
   * The head is about to be written; add or remove headers. Runs for every response a worker
   * caused, relayed or made by the gateway after dispatch.
   */
  abstract onHead(head: ResponseHead, exchange: Exchange): void;

  /** Asks to see a buffered body before the head is written; never asked for a stream. */
  inspectsBody(_head: ResponseHead, _exchange: Exchange): boolean {
    return false;
  }

  /** The whole body, after `onHead` and before the head is written; the bytes cannot be changed. */
  onBody(_head: ResponseHead, _body: Buffer, _exchange: Exchange): void {
    // Called only when inspectsBody said true.
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<{ raw: Carrier }>();
    const attached = request.raw[ATTACHED];
    if (attached === undefined) request.raw[ATTACHED] = [this];
    else attached.push(this);
    return next.handle();
  }
}

/** Interceptors that Nest's pipeline attached to a raw request; empty on the data plane's own lane. */
export function attachedInterceptors(raw: object): readonly ResponseInterceptor[] {
  return (raw as Carrier)[ATTACHED] ?? [];
}

/** Register a {@link ResponseInterceptor}; it then runs on every route that relays an engine. */
export const RESPONSE_INTERCEPTOR = defineExtensionPoint<ResponseInterceptor>(
  'smg:response-interceptor',
);
