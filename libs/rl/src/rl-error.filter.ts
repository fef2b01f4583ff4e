import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ERROR_CODE } from '@smg/protocol';
import { RlError } from './core/rl-error';
import { type RlReply } from './rl.http';

/** Renders the errors of the control plane: `{"error", "message", …}`. */
@Catch(RlError)
export class RlErrorFilter implements ExceptionFilter<RlError> {
  catch(error: RlError, host: ArgumentsHost): void {
    host
      .switchToHttp()
      .getResponse<RlReply>()
      .code(error.status)
      .header(ERROR_CODE, error.code)
      .header('content-type', 'application/json')
      .send(JSON.stringify(error.body()));
  }
}
