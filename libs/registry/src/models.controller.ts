import { Controller, Get, Res } from '@nestjs/common';
import { DescribedBy, Public } from '@smg/plugin-api';
import type * as Description from './docs/models.description';
import { type Reply } from './reply';
import { WorkerRegistry } from './worker.registry';

interface ModelEntry {
  readonly id: string;
  readonly object: 'model';
  readonly created: 0;
  readonly owned_by: string;
}

/** GET `/v1/models`: the distinct model ids of the registered workers. Law: SMG contract 2.5. */
@Public()
@DescribedBy(() => (require('./docs/models.description') as typeof Description).MODELS_DESCRIPTION)
@Controller('v1/models')
export class ModelsController {
  constructor(private readonly registry: WorkerRegistry) {}

  @Get()
  list(@Res({ passthrough: true }) reply: Reply): object | string {
    const models = new Map<string, ModelEntry>();
    for (const worker of this.registry.all()) {
      for (const { id, provider } of worker.definition.models) {
        if (models.has(id)) continue;
        models.set(id, { id, object: 'model', created: 0, owned_by: provider ?? 'self_hosted' });
      }
    }
    if (models.size > 0) return { object: 'list', data: [...models.values()] };
    reply.code(503).header('content-type', 'text/plain; charset=utf-8');
    return 'No models available';
  }
}
