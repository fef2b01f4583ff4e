import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Inject,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Res,
  UseFilters,
} from '@nestjs/common';
import { preferredWait, type WorkerInfoWire, type WorkerSpecWire } from '@smg/protocol';
import { ControlPlane, DescribedBy } from '@smg/plugin-api';
import type * as Description from './docs/workers.description';
import { type RegistryOptions } from './core/registry-options';
import { type WorkerPatchWire } from './core/spec-merge';
import { registrationFailed } from './core/worker-api-error';
import { BodyPipe } from './dto/body.pipe';
import { WorkerPatchDto } from './dto/worker-patch.dto';
import { WorkerSpecDto } from './dto/worker-spec.dto';
import { RegistrationWaiter } from './registration.waiter';
import { REGISTRY_OPTIONS } from './registry.tokens';
import { leaving, type Reply } from './reply';
import { WorkerApiFilter } from './worker-api.filter';
import { WorkerCommands } from './worker.commands';

/** Longest wait for a registration, whatever the client prefers. */
const MAX_WAIT_SECS = 300;

interface AddedAnswer {
  readonly status: 'accepted' | 'ready';
  readonly worker_id: string;
  readonly url: string;
  readonly location: string;
  readonly message: string;
}

interface AcceptedAnswer {
  readonly status: 'accepted';
  readonly worker_id: string;
  readonly message: string;
}

interface WorkerList {
  readonly workers: readonly WorkerInfoWire[];
  readonly total: number;
  readonly stats: {
    readonly prefill_count: number;
    readonly decode_count: number;
    readonly regular_count: number;
  };
}

/** `/workers`. Law: SMG contract 3.2. Where an id stands, a percent-encoded URL may stand as well. */
@ControlPlane()
@UseFilters(new WorkerApiFilter())
@DescribedBy(
  () => (require('./docs/workers.description') as typeof Description).WORKERS_DESCRIPTION,
)
@Controller('workers')
export class WorkersController {
  constructor(
    @Inject(REGISTRY_OPTIONS) private readonly options: RegistryOptions,
    private readonly commands: WorkerCommands,
    private readonly waiter: RegistrationWaiter,
  ) {}

  /** `Prefer: wait=<seconds>` asks for the outcome: 200 once the worker is ready. */
  @Post()
  @HttpCode(202)
  async add(
    @Body(new BodyPipe<WorkerSpecWire>(WorkerSpecDto)) spec: unknown,
    @Headers('prefer') prefer: string | undefined,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<AddedAnswer> {
    const { id, url } = this.commands.add(spec as WorkerSpecWire);
    const location = `/workers/${id}`;
    reply.header('location', location);
    const preferred = preferredWait(prefer);
    const waitSecs = Math.min(preferred ?? this.options.registrationWaitSecs, MAX_WAIT_SECS);
    if (preferred !== undefined) reply.header('preference-applied', `wait=${waitSecs}`);
    const named = { worker_id: id, url, location };
    if (waitSecs > 0 && (await this.isReady(id, waitSecs, reply))) {
      reply.code(200);
      return { status: 'ready', ...named, message: 'Worker is ready' };
    }
    return {
      status: 'accepted',
      ...named,
      message: 'Worker addition queued for background processing',
    };
  }

  /** @throws WorkerApiError WORKER_REGISTRATION_FAILED */
  private async isReady(id: string, waitSecs: number, reply: Reply): Promise<boolean> {
    const { left, release } = leaving(reply);
    const outcome = await this.waiter.outcomeOf(id, waitSecs * 1000, left);
    release();
    if (outcome.kind === 'failed') throw registrationFailed(outcome.message);
    return outcome.kind === 'routable';
  }

  @Get()
  list(@Query('model') model?: string | readonly string[]): WorkerList {
    const name = typeof model === 'string' && model !== '' ? model : undefined;
    const workers = this.commands.list(name);
    const count = (type: string): number => workers.filter((it) => it.worker_type === type).length;
    return {
      workers,
      total: workers.length,
      stats: {
        prefill_count: count('prefill'),
        decode_count: count('decode'),
        regular_count: count('regular'),
      },
    };
  }

  @Get(':id')
  find(@Param('id') id: string): WorkerInfoWire {
    return this.commands.find(id);
  }

  @Put(':id')
  @HttpCode(202)
  replace(
    @Param('id') id: string,
    @Body(new BodyPipe<WorkerSpecWire>(WorkerSpecDto)) spec: unknown,
  ): AcceptedAnswer {
    return updateAccepted(this.commands.replace(id, spec as WorkerSpecWire));
  }

  @Patch(':id')
  @HttpCode(202)
  patch(
    @Param('id') id: string,
    @Body(new BodyPipe<WorkerPatchWire>(WorkerPatchDto)) patch: unknown,
  ): AcceptedAnswer {
    return updateAccepted(this.commands.patch(id, patch as WorkerPatchWire));
  }

  @Delete(':id')
  @HttpCode(202)
  remove(@Param('id') id: string): AcceptedAnswer {
    const removed = this.commands.remove(id);
    return {
      status: 'accepted',
      worker_id: removed.id,
      message: 'Worker removal queued for background processing',
    };
  }
}

const updateAccepted = ({ id }: { readonly id: string }): AcceptedAnswer => ({
  status: 'accepted',
  worker_id: id,
  message: 'Worker update queued for background processing',
});
