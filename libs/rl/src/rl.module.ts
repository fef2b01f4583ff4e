import { Logger, Module, type DynamicModule } from '@nestjs/common';
import { CANDIDATE_FILTER, ENGINE_CONTROL, RESPONSE_INTERCEPTOR } from '@smg/plugin-api';
import { CallObserver } from './call.observer';
import { ControlCaller } from './control.caller';
import { ControlEffectsReader } from './control-effects.reader';
import { Eligibility } from './core/eligibility';
import { EligibilityFilter } from './core/eligibility-filter';
import { PolicyHeader } from './core/policy-header';
import { parseVersionPolicy } from './core/version-policy';
import { VersionTable } from './core/version-table';
import { EngineFanout } from './engine.fanout';
import { EngineRows } from './engine.rows';
import { EngineSelection } from './engine.selection';
import { EngineWrites } from './engine.writes';
import { FleetControl } from './fleet.control';
import { RlEngineController } from './rl-engine.controller';
import { RlFleetController } from './rl-fleet.controller';
import { RlMetrics } from './rl.metrics';
import { RL_OPTIONS, type RlOptions } from './rl.options';
import { RlWorkersController } from './rl-workers.controller';
import { TableMaintainer } from './table.maintainer';
import { TableReporter } from './table.reporter';
import { WeightVersionInterceptor } from './weight-version.interceptor';

function createFilter(
  options: RlOptions,
  table: VersionTable,
  metrics: RlMetrics,
): EligibilityFilter {
  const parsed = parseVersionPolicy(options.versionPolicy);
  if (!parsed.ok) {
    throw new Error(`invalid version policy \`${options.versionPolicy}\`: ${parsed.reason}`);
  }
  const logger = new Logger('smg_rl');
  const eligibility = new Eligibility(table, (a, b) => {
    logger.warn(
      { a, b },
      'a numeric weight version was compared with a text one: by bytes, which is no total order',
    );
  });
  return new EligibilityFilter(eligibility, new PolicyHeader(parsed.policy), {
    onDropped: (reason, count) => {
      metrics.dropped(reason, count);
    },
    onUnroutable: () => {
      metrics.wasUnroutable();
    },
  });
}

/**
 * The RL control plane. Needs, from global modules: WORKER_DIRECTORY, WORKER_EVENTS, WORKER_CALLER,
 * ENGINE_CATALOG and METRICS. Provides ENGINE_CONTROL to everyone. Not imported, it leaves no trace. What ties it to the rest is listed in
 * COUPLING.md.
 */
@Module({})
export class RlModule {
  static forRoot(options: RlOptions): DynamicModule {
    return {
      module: RlModule,
      global: true,
      controllers: [RlWorkersController, RlEngineController, RlFleetController],
      providers: [
        { provide: RL_OPTIONS, useValue: options },
        { provide: VersionTable, useFactory: () => new VersionTable() },
        RlMetrics,
        // Listens before the maintainer fills the table: hooks of a module run in this order.
        TableReporter,
        TableMaintainer,
        ControlEffectsReader,
        CallObserver,
        ControlCaller,
        EngineSelection,
        EngineRows,
        EngineWrites,
        EngineFanout,
        FleetControl,
        { provide: ENGINE_CONTROL, useExisting: FleetControl },
        ...CANDIDATE_FILTER.provide({
          label: 'EligibilityFilter',
          useFactory: createFilter,
          inject: [RL_OPTIONS, VersionTable, RlMetrics],
        }),
        ...RESPONSE_INTERCEPTOR.provide(WeightVersionInterceptor),
      ],
      exports: [ENGINE_CONTROL],
    };
  }
}
