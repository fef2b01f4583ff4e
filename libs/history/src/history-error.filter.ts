import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ERROR_CODE, GatewayError, renderErrorEnvelope } from '@smg/protocol';
import { ConversationError, StorageError } from './core/history-errors';
import { type HistoryReply, JSON_TYPE } from './history.http';

/** Errors about conversations have bodies of their own; a failure of the store is the gateway's. */
@Catch(ConversationError, StorageError)
export class HistoryErrorFilter implements ExceptionFilter<ConversationError | StorageError> {
  catch(error: ConversationError | StorageError, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<HistoryReply>().header('content-type', JSON_TYPE);
    if (error instanceof ConversationError) {
      reply.code(error.status).send(JSON.stringify(error.body()));
      return;
    }
    const { status, code, message } = new GatewayError('storage_error', error.message);
    reply
      .code(status)
      .header(ERROR_CODE, code)
      .send(renderErrorEnvelope(status, code, message));
  }
}
