import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { AuthRejection, sendRejection } from '@smg/auth';
import { ERROR_CODE, GatewayError, isGatewayError, renderErrorEnvelope } from '@smg/protocol';

/**
 * The one exception filter of routes that Nest serves. A GatewayError becomes its envelope; a Nest
 * HttpException keeps its own body (controllers choose their envelope through it); anything else is a
 * fault of ours: logged with its stack, answered without one.
 */
@Catch()
export class HttpErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  catch(exception: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    if (exception instanceof AuthRejection) {
      sendRejection(reply, exception.rejection);
      return;
    }
    if (isGatewayError(exception)) {
      this.sendGatewayError(reply, exception);
      return;
    }
    const status = statusOf(exception);
    if (status !== undefined && status < 500) {
      sendBody(reply, status, exception);
      return;
    }
    this.logger.error(
      exception instanceof Error ? (exception.stack ?? exception.message) : exception,
    );
    this.sendGatewayError(reply, new GatewayError('internal_error', 'Internal error; see the log'));
  }

  private sendGatewayError(reply: FastifyReply, error: GatewayError): void {
    if (error.retryAfterSecs !== undefined)
      void reply.header('retry-after', String(error.retryAfterSecs));
    void reply
      .code(error.status)
      .header(ERROR_CODE, error.code)
      .header('content-type', 'application/json')
      .send(renderErrorEnvelope(error.status, error.code, error.message));
  }
}

function statusOf(exception: unknown): number | undefined {
  if (exception instanceof HttpException) return exception.getStatus();
  if (exception instanceof Error && 'statusCode' in exception) {
    return typeof exception.statusCode === 'number' ? exception.statusCode : undefined;
  }
  return undefined;
}

function sendBody(reply: FastifyReply, status: number, exception: unknown): void {
  const body = exception instanceof HttpException ? exception.getResponse() : undefined;
  if (typeof body === 'object') {
    void reply.code(status).header('content-type', 'application/json').send(JSON.stringify(body));
    return;
  }
  const message = body ?? (exception instanceof Error ? exception.message : '');
  void reply.code(status).header('content-type', 'text/plain; charset=utf-8').send(message);
}
