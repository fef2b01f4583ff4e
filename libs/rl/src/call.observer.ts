import { Injectable, Logger } from '@nestjs/common';
import { type ControlCall, type WorkerView } from '@smg/plugin-api';
import { ControlEffectsReader } from './control-effects.reader';
import { observeCall, type ObservedCall } from './core/observe';
import { VersionTable } from './core/version-table';

/** Watches control calls for what they do to an engine, and keeps the table true. */
@Injectable()
export class CallObserver {
  private readonly logger = new Logger('smg_rl');

  constructor(
    private readonly effects: ControlEffectsReader,
    private readonly table: VersionTable,
  ) {}

  /** Closes what the call closes; settle it with the answer. */
  begin(worker: WorkerView, call: ControlCall): ObservedCall {
    const effects = this.effects.read(worker.runtime, call);
    return observeCall(this.table, worker, effects, ({ reason, kind }) => {
      // Never the value: a body may hold anything.
      this.logger.warn(
        { route: call.path, reason, ...(kind === undefined ? {} : { kind }) },
        'a refit carried no usable weight version: the recorded one stays',
      );
    });
  }
}
