import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { ADMISSION, METRICS, RELOADABLE, type Admission, type Metrics } from '@smg/plugin-api';
import { ADMISSION_OPTIONS, type AdmissionOptions } from './admission.options';
import { TenantAdmission } from './core/tenant-admission';
import { TenantLedger } from './core/tenant-ledger';
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
      metrics.counter({
        name: 'smg_http_rate_limit_total',
        help: 'Requests judged by any limit on requests.',
        labels: ['result'],
      }),
    ];
    return new TenantAdmission(ledger, trustHeader ? headerName.toLowerCase() : undefined, {
      allowed: families.map((family) => family.cell('allowed')),
      rejected: families.map((family) => family.cell('rejected')),
    });
  },
};

/** Provides ADMISSION, globally, while something is limited. */
@Module({})
export class AdmissionModule {
  static forRoot(options: AdmissionOptions): DynamicModule {
    if (!options.rateLimitEnabled) return { module: AdmissionModule };
    return {
      module: AdmissionModule,
      global: true,
      providers: [
        { provide: ADMISSION_OPTIONS, useValue: options },
        source,
        admission,
        ...RELOADABLE.provide({
          label: 'tenant-limits',
          inject: [TenantLimitsSource],
          useFactory: (limits: TenantLimitsSource) => limits,
        }),
      ],
      exports: [ADMISSION],
    };
  }
}
