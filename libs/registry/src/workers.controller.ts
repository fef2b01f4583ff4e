import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Res,
  UseFilters,
} from '@nestjs/common';
import { type WorkerInfoWire, type WorkerSpecWire } from '@smg/protocol';
import { ControlPlane, DescribedBy } from '@smg/plugin-api';
import type * as Description from './docs/workers.description';
import { type WorkerPatchWire } from './core/spec-merge';
import { BodyPipe } from './dto/body.pipe';
import { WorkerPatchDto } from './dto/worker-patch.dto';
import { WorkerSpecDto } from './dto/worker-spec.dto';
import { type Reply } from './reply';
import { WorkerApiFilter } from './worker-api.filter';
import { WorkerCommands } from './worker.commands';

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
  constructor(private readonly commands: WorkerCommands) {}

  @Post()
  @HttpCode(202)
  add(
    @Body(new BodyPipe<WorkerSpecWire>(WorkerSpecDto)) spec: unknown,
    @Res({ passthrough: true }) reply: Reply,
  ): AcceptedAnswer & { readonly url: string; readonly location: string } {
    const { id, url } = this.commands.add(spec as WorkerSpecWire);
    const location = `/workers/${id}`;
    reply.header('location', location);
    return {
      status: 'accepted',
      worker_id: id,
      url,
      location,
      message: 'Worker addition queued for background processing',
    };
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
