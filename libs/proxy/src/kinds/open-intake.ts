import { GatewayError } from '@smg/protocol';
import { type IncomingMessage } from 'node:http';
import { type ClientHead } from '../core/client-head';
import { type RouteFacts } from '../core/inference-routes';
import { type InferenceExchange } from '../inference.exchange';
import { type RunServices } from '../run.services';
import { FormIntake } from './form.intake';
import { type Intake, type IntakeListener } from './intake';
import { JsonIntake } from './json.intake';
import { UploadIntake } from './upload.intake';
import { uploadModel } from './upload-model';

/** A request whose body is wanted. */
export interface IncomingBody {
  readonly request: IncomingMessage;
  readonly head: ClientHead;
  readonly route: RouteFacts;
  readonly exchange: InferenceExchange;
}

/** A WebSocket's route without an upgrade. */
class NoIntake implements Intake {
  constructor(private readonly listener: IntakeListener) {}

  start(): void {
    this.listener.onUnreadable(
      new GatewayError('upgrade_required', 'this route speaks WebSocket: the request must upgrade'),
    );
  }

  cancel(): void {
    // Nothing was begun.
  }
}

/** How the body of a request is taken in: passed on unread, read as a form, or held as JSON. */
export function openIntake(
  services: RunServices,
  { request, head, route, exchange }: IncomingBody,
  listener: IntakeListener,
): Intake {
  const { maxPayloadSize, bodyIdleTimeoutSecs, streamStallTimeoutSecs } = services.options;
  if (route.carries === 'socket') return new NoIntake(listener);
  const idleMs = bodyIdleTimeoutSecs * 1000;
  if (route.carries === 'form') {
    return new FormIntake(head.header('content-type'), request, maxPayloadSize, idleMs, listener);
  }
  // A body that is to be written into must be held.
  const mayPass = services.pairs === undefined;
  const model = mayPass ? uploadModel(services, route, head, exchange) : undefined;
  if (model !== undefined) {
    const upload = { model, bytes: head.contentLength, stallMs: streamStallTimeoutSecs * 1000 };
    return new UploadIntake(upload, request, listener);
  }
  return new JsonIntake(route, request, maxPayloadSize, idleMs, listener);
}
