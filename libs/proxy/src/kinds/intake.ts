import { type GatewayError } from '@smg/protocol';
import { type BodyFailure } from '../body.reader';
import { type RequestFacts } from '../core/request-facts';
import { type OutgoingBody } from './outgoing-body';

/** Takes a request's body in, or as much of it as routing needs. */
export interface Intake {
  start(): void;
  /** Stops listening; nothing is reported any more. */
  cancel(): void;
}

/** Hears the outcome of an {@link Intake}: one of `onRequest` and a failure. */
export interface IntakeListener {
  /** What routing may know, and what goes to an engine. */
  onRequest(facts: RequestFacts, body: OutgoingBody): void;
  /** The body is no request of this route. */
  onUnreadable(error: GatewayError): void;
  /** The body did not arrive. With a body that streams this may follow `onRequest`. */
  onBodyFailure(failure: BodyFailure): void;
}
