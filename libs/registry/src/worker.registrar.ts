import { Injectable } from '@nestjs/common';
import { type WorkerSpecWire } from '@smg/protocol';
import {
  type RegistrarAnswer,
  type RegistrationOutcome,
  type WorkerRegistrar,
} from '@smg/plugin-api';
import { WorkerApiError, workerNotFound } from './core/worker-api-error';
import { parseWorkerUrl } from './core/worker-url';
import { RegistrationWaiter } from './registration.waiter';
import { WorkerCommands } from './worker.commands';
import { WorkerRegistry } from './worker.registry';

/** WORKER_REGISTRAR: the worker API for other modules, its refusals as values. */
@Injectable()
export class CommandRegistrar implements WorkerRegistrar {
  constructor(
    private readonly commands: WorkerCommands,
    private readonly registry: WorkerRegistry,
    private readonly waiter: RegistrationWaiter,
  ) {}

  ensure(spec: WorkerSpecWire): RegistrarAnswer {
    return answerOf(() => this.commands.ensure(spec));
  }

  outcomeOf(id: string, waitMs: number, left: AbortSignal): Promise<RegistrationOutcome> {
    return this.waiter.outcomeOf(id, waitMs, left);
  }

  removeEngine(url: string): RegistrarAnswer {
    const parsed = parseWorkerUrl(url);
    if (!parsed.ok) return { ok: false, status: 400, code: 'BAD_REQUEST', message: parsed.message };
    const { address } = parsed;
    const ranks =
      address.rank === undefined
        ? this.registry.all().filter(({ baseKey }) => baseKey === address.baseKey)
        : [];
    return answerOf(() => {
      // One that is being registered is no rank of anything yet; by URL, as one may follow one that drains.
      const urls = ranks.length > 0 ? ranks.map(({ url }) => url) : [address.url];
      const [first] = urls.map((each) => this.commands.remove(each));
      if (first === undefined) throw workerNotFound('with this URL');
      return { id: first.id, url: address.url };
    });
  }
}

function answerOf(work: () => { readonly id: string; readonly url: string }): RegistrarAnswer {
  try {
    const { id, url } = work();
    return { ok: true, id, url };
  } catch (error) {
    if (!(error instanceof WorkerApiError)) throw error;
    const { status, code, message } = error;
    return { ok: false, status, code, message };
  }
}
