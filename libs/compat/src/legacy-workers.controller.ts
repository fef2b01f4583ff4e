import { Controller, Get, Headers, HttpCode, Inject, Post, Query, Res } from '@nestjs/common';
import { preferredWait } from '@smg/protocol';
import {
  ControlPlane,
  DescribedBy,
  WORKER_DIRECTORY,
  WORKER_REGISTRAR,
  type RegistrarAnswer,
  type WorkerDirectory,
  type WorkerRegistrar,
} from '@smg/plugin-api';
import type * as Description from './docs/legacy-workers.description';
import { onePerEngine } from './core/abort-order';
import { whileWaited, type RawReply } from './raw-http';

/** Seconds a registration is waited for when its client does not say; these clients send to it next. */
const WAIT_SECS = 60;
/** Seconds no client waits longer than. */
const MAX_WAIT_SECS = 300;

/**
 * The registration of older routers: everything in the query, and an answer once the worker can be
 * routed to.
 */
@DescribedBy(
  () =>
    (require('./docs/legacy-workers.description') as typeof Description).LEGACY_WORKERS_DESCRIPTION,
)
@ControlPlane()
@Controller()
export class LegacyWorkersController {
  constructor(
    @Inject(WORKER_REGISTRAR) private readonly registrar: WorkerRegistrar,
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
  ) {}

  /** Registering what is registered is no mistake: clients of this route start again and again. */
  @Post('add_worker')
  async add(
    @Query('url') url: unknown,
    @Headers('prefer') prefer: string | undefined,
    @Res() reply: RawReply,
  ): Promise<void> {
    const taken = typeof url === 'string' && url !== '' ? this.registrar.ensure({ url }) : NO_URL;
    if (!taken.ok) {
      refuse(reply, taken);
      return;
    }
    const preferred = preferredWait(prefer);
    const waitSecs = Math.min(preferred ?? WAIT_SECS, MAX_WAIT_SECS);
    if (preferred !== undefined) reply.header('preference-applied', `wait=${waitSecs}`);
    await whileWaited(reply, async (left) => {
      const outcome = await this.registrar.outcomeOf(taken.id, waitSecs * 1000, left);
      if (outcome.kind === 'failed') {
        const message = `The worker could not be registered: ${outcome.message}`;
        refuse(reply, { status: 502, code: 'WORKER_REGISTRATION_FAILED', message });
        return;
      }
      const isReady = outcome.kind === 'routable';
      answer(reply, isReady ? 200 : 202, {
        status: isReady ? 'ready' : 'accepted',
        worker_id: taken.id,
        url: taken.url,
        message: isReady ? 'Worker is ready' : 'The worker is not ready yet; registration goes on',
      });
    });
  }

  /** The whole engine, every rank of it. */
  @Post('remove_worker')
  remove(@Query('url') url: unknown, @Res() reply: RawReply): void {
    const removed =
      typeof url === 'string' && url !== '' ? this.registrar.removeEngine(url) : NO_URL;
    if (!removed.ok) {
      refuse(reply, removed);
      return;
    }
    const { id, url: known } = removed;
    const message = 'Worker removal queued for background processing';
    answer(reply, 200, { status: 'accepted', worker_id: id, url: known, message });
  }

  /** Engines, as their URLs were registered. */
  @Get('list_workers')
  @HttpCode(200)
  list(@Res() reply: RawReply): void {
    const urls = onePerEngine(this.directory.all()).map(({ baseUrl }) => baseUrl);
    answer(reply, 200, { urls });
  }
}

type Refusal = Pick<Extract<RegistrarAnswer, { ok: false }>, 'status' | 'code' | 'message'>;

const NO_URL: RegistrarAnswer = {
  ok: false,
  status: 400,
  code: 'BAD_REQUEST',
  message: 'the query needs one url of the worker',
};

function refuse(reply: RawReply, { status, code, message }: Refusal): void {
  answer(reply, status, { error: message, code });
}

function answer(reply: RawReply, status: number, body: object): void {
  reply.code(status).header('content-type', 'application/json').send(JSON.stringify(body));
}
