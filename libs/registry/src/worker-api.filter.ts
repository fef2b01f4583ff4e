import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { BodyRejected } from './core/body-rejected';
import { WorkerApiError } from './core/worker-api-error';
import { type Reply } from './reply';

/** Renders the refusals of the worker API: `{"error","code"}`, or plain text for an unusable body. */
@Catch(WorkerApiError, BodyRejected)
export class WorkerApiFilter implements ExceptionFilter<WorkerApiError | BodyRejected> {
  catch(error: WorkerApiError | BodyRejected, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<Reply>();
    if (error instanceof BodyRejected) {
      reply
        .code(error.status)
        .header('content-type', 'text/plain; charset=utf-8')
        .send(error.message);
      return;
    }
    reply
      .code(error.status)
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify({ error: error.message, code: error.code }));
  }
}
