import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { ERROR_CODE } from '@smg/protocol';
import { AuthRejection } from './auth-rejection';
import { type PlaneRejection } from './core/plane-decision';

/** What is needed of a Fastify reply. */
export interface RejectionReply {
  status(code: number): unknown;
  header(name: string, value: string): unknown;
  send(body: Buffer): unknown;
}

/** Writes a refusal; also for hooks that run before Nest. */
export function sendRejection(reply: RejectionReply, rejection: PlaneRejection): void {
  reply.status(rejection.status);
  reply.header('content-type', rejection.contentType);
  if (rejection.challenge !== undefined) reply.header('www-authenticate', rejection.challenge);
  if (rejection.errorCode !== undefined) reply.header(ERROR_CODE, rejection.errorCode);
  // Fastify adds a charset to the type of a text; the other lane does not.
  reply.send(Buffer.from(rejection.body));
}

@Catch(AuthRejection)
export class AuthRejectionFilter implements ExceptionFilter<AuthRejection> {
  catch(error: AuthRejection, host: ArgumentsHost): void {
    sendRejection(host.switchToHttp().getResponse<RejectionReply>(), error.rejection);
  }
}
