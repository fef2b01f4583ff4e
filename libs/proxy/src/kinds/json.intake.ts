import { GatewayError } from '@smg/protocol';
import { type IncomingMessage } from 'node:http';
import { type BodyFailure, type BodyListener, BodyReader } from '../body.reader';
import { type RouteFacts } from '../core/inference-routes';
import { readRequestFacts } from '../core/request-facts';
import { type Intake, type IntakeListener } from './intake';
import { JsonBody } from './json.body';

/** Holds a JSON body and reads it, once. */
export class JsonIntake implements Intake, BodyListener {
  private readonly reader: BodyReader;

  /**
   * @param limit bytes.
   * @param idleMs longest pause of the client; 0 waits for ever.
   */
  constructor(
    private readonly route: RouteFacts,
    request: IncomingMessage,
    limit: number,
    idleMs: number,
    private readonly listener: IntakeListener,
  ) {
    this.reader = new BodyReader(request, limit, idleMs, this);
  }

  start(): void {
    this.reader.start();
  }

  cancel(): void {
    this.reader.cancel();
  }

  onBody(body: Buffer): void {
    const { route } = this;
    const result = readRequestFacts(route.path, body, route.modelParent);
    if (result.ok) {
      this.listener.onRequest(
        result.facts,
        new JsonBody(body, route.modelParent, !route.isSentOnce),
      );
    } else this.listener.onUnreadable(new GatewayError('json_parse_error', result.message));
  }

  onBodyFailure(failure: BodyFailure): void {
    this.listener.onBodyFailure(failure);
  }
}
