import { Controller, HttpCode, Inject, Post, Query } from '@nestjs/common';
import { AFFINITY, DataPlane, DescribedBy, type Affinity } from '@smg/plugin-api';
import type * as Description from './docs/sessions.description';

/** Ends of conversations, told by the clients that hold them. */
@DescribedBy(
  () => (require('./docs/sessions.description') as typeof Description).SESSIONS_DESCRIPTION,
)
@DataPlane()
@Controller()
export class SessionsController {
  constructor(@Inject(AFFINITY) private readonly affinity: Affinity) {}

  /** A kindness of the client: nothing depends on it, so nothing can fail. */
  @Post('finish_session')
  @HttpCode(200)
  finish(@Query('session_id') id: unknown): { readonly status: 'ok' } {
    if (typeof id === 'string' && id !== '') this.affinity.forget(id);
    return { status: 'ok' };
  }
}
