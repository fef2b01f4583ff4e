import { Module, type DynamicModule, type FactoryProvider, type Provider } from '@nestjs/common';
import {
  ADMISSION,
  ENTRY_CONTROL,
  METRICS,
  RELOADABLE,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type Admission,
  type EntryControl,
  type Metrics,
  type WorkerDirectory,
  type WorkerEvents,
} from '@smg/plugin-api';
import { ADMISSION_OPTIONS, type AdmissionOptions, type EntryOptions } from './admission.options';
import { TenantAdmission } from './core/tenant-admission';
import { TenantLedger } from './core/tenant-ledger';
import { buildEntry } from './entry.factory';
import { rateLimitCells } from './entry.meters';
import { SchedulerPlanSource } from './scheduler-plan.source';
import { TenantLimitsSource } from './tenant-limits.source';

/** Tenants kept beside those with a key or a policy of their own; about 300 bytes each. */
const MAX_TENANTS = 10_000;

const source: FactoryProvider<TenantLimitsSource> = {
  provide: TenantLimitsSource,
  inject: [ADMISSION_OPTIONS],
  useFactory: ({ rateLimitConfig }: AdmissionOptions): TenantLimitsSource => {
    if (rateLimitConfig === undefined) throw new Error('tenant limits without a file of limits');
    return new TenantLimitsSource(rateLimitConfig);
  },
};

const admission: FactoryProvider<Admission> = {
  provide: ADMISSION,
  inject: [ADMISSION_OPTIONS, TenantLimitsSource, METRICS],
  useFactory: (
    { trustHeader, headerName, now = () => performance.now() }: AdmissionOptions,
    limits: TenantLimitsSource,
    metrics: Metrics,
  ): Admission => {
    const ledger = new TenantLedger(limits.read(), now, MAX_TENANTS);
    limits.attach(ledger);
    const families = [
      metrics.counter({
        name: 'smg_tenant_rate_limit_total',
        help: 'Requests judged by the budget of their tenant.',
        labels: ['result'],
      }),
      rateLimitCells(metrics),
    ];
    return new TenantAdmission(ledger, trustHeader ? headerName.toLowerCase() : undefined, {
      allowed: families.map((family) => family.cell('allowed')),
      rejected: families.map((family) => family.cell('rejected')),
    });
  },
};

const plans: FactoryProvider<SchedulerPlanSource> = {
  provide: SchedulerPlanSource,
  inject: [ADMISSION_OPTIONS],
  useFactory: ({ entry }: AdmissionOptions) => new SchedulerPlanSource(entry?.scheduler?.config),
};

const entryControl: FactoryProvider<EntryControl> = {
  provide: ENTRY_CONTROL,
  inject: [ADMISSION_OPTIONS, METRICS, WORKER_DIRECTORY, WORKER_EVENTS, SchedulerPlanSource],
  useFactory: (
    options: AdmissionOptions,
    metrics: Metrics,
    directory: WorkerDirectory,
    events: WorkerEvents,
    source: SchedulerPlanSource,
  ): EntryControl => {
    const { entry } = options;
    if (entry === undefined) throw new Error('a limit of requests in flight without its options');
    return buildEntry({ options, entry, metrics, directory, events, plans: source });
  },
};

/** Provides ADMISSION while tenants have budgets, and ENTRY_CONTROL while requests in flight are limited. */
@Module({})
export class AdmissionModule {
  static forRoot(options: AdmissionOptions): DynamicModule {
    const budgets = options.rateLimitEnabled ? budgetProviders() : [];
    const entry = options.entry === undefined ? [] : entryProviders(options.entry);
    if (budgets.length + entry.length === 0) return { module: AdmissionModule };
    return {
      module: AdmissionModule,
      global: true,
      providers: [{ provide: ADMISSION_OPTIONS, useValue: options }, ...budgets, ...entry],
      exports: [
        ...(options.rateLimitEnabled ? [ADMISSION] : []),
        ...(options.entry === undefined ? [] : [ENTRY_CONTROL]),
      ],
    };
  }
}

function budgetProviders(): Provider[] {
  return [
    source,
    admission,
    ...RELOADABLE.provide({
      label: 'tenant-limits',
      inject: [TenantLimitsSource],
      useFactory: (limits: TenantLimitsSource) => limits,
    }),
  ];
}

function entryProviders({ scheduler }: EntryOptions): Provider[] {
  if (scheduler?.config === undefined) return [plans, entryControl];
  return [
    plans,
    entryControl,
    ...RELOADABLE.provide({
      label: 'priority-scheduler',
      inject: [SchedulerPlanSource],
      useFactory: (file: SchedulerPlanSource) => file,
    }),
  ];
}
