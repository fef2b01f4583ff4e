import { Inject, Injectable } from '@nestjs/common';
import {
  ENGINE_CATALOG,
  WORKER_DIRECTORY,
  type EngineCatalog,
  type WorkerDirectory,
  type WorkerView,
} from '@smg/plugin-api';
import {
  engineRow,
  ranksOf,
  workersAnswer,
  type EngineGroup,
  type RlWorkerRow,
  type RlWorkersAnswer,
  type RowSources,
} from './core/discovery-row';
import { VersionTable } from './core/version-table';

/** Shows engines as the wire does. */
@Injectable()
export class EngineRows {
  private readonly sources: RowSources;

  constructor(
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(ENGINE_CATALOG) catalog: EngineCatalog,
    table: VersionTable,
  ) {
    this.sources = { table, capabilities: (engine) => catalog.byName(engine)?.capabilities };
  }

  list(groups: readonly EngineGroup[]): RlWorkersAnswer {
    return workersAnswer(groups, this.sources);
  }

  /** The row under the id and URL of `worker`, which may be any rank. */
  one(worker: WorkerView): RlWorkerRow {
    return engineRow(worker, ranksOf(worker, this.directory.all()), this.sources);
  }
}
