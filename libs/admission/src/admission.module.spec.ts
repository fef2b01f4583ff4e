import { Module, type DynamicModule } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { ADMISSION, METRICS, RELOADABLE, type Admission, type Reloadable } from '@smg/plugin-api';
import { FakeClock, FakeMetrics } from '@smg/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdmissionModule } from './admission.module';

const metrics = new FakeMetrics();

@Module({})
class Observed {
  static make(): DynamicModule {
    return {
      module: Observed,
      global: true,
      providers: [{ provide: METRICS, useValue: metrics }],
      exports: [METRICS],
    };
  }
}

describe('AdmissionModule', () => {
  let folder: string;
  let path: string;
  const clock = new FakeClock();
  const boot = (enabled = true): Promise<TestingModule> =>
    Test.createTestingModule({
      imports: [
        Observed.make(),
        AdmissionModule.forRoot({
          rateLimitEnabled: enabled,
          rateLimitConfig: path,
          trustHeader: true,
          headerName: 'X-Tenant',
          entry: undefined,
          now: clock.now,
        }),
      ],
    }).compile();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'smg-limits-'));
    path = join(folder, 'limits.yaml');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const chargeOn = (admission: Admission) =>
    admission.charge({ tenant: 'header:a', model: 'm', tokens: 0 }).allowed;

  it('provides nothing while it is off, and reads no file', async () => {
    const module = await boot(false);
    expect(() => module.get(ADMISSION, { strict: false })).toThrow();
  });

  it('does not start without its file, and says why without a stack', async () => {
    await expect(boot()).rejects.toThrow(`--tenant-rate-limit-config: cannot read ${path}: ENOENT`);
    writeFileSync(path, 'tenants: [5]\n');
    await expect(boot()).rejects.toThrow(`${path}:1:11: a tenant must be a map`);
  });

  it('limits, counts, and takes a new file as a whole or not at all', async () => {
    writeFileSync(path, 'default_policy: {requests_per_minute: 1}\n');
    const module = await boot();
    const admission = module.get<Admission>(ADMISSION, { strict: false });
    const [token] = [...moduleTokens(module)].filter((name) => RELOADABLE.owns(name));
    const reloadable = module.get<Reloadable>(String(token), { strict: false });
    expect(reloadable.name).toBe('tenant-limits');
    expect(
      admission.tenantOf({ authenticatedTenant: undefined, peer: '::1', header: () => 'a' }),
    ).toBe('header:a');

    expect(chargeOn(admission)).toBe(true);
    expect(chargeOn(admission)).toBe(false);
    writeFileSync(path, 'default_policy: {requests_per_minute: many}\n');
    expect(() => reloadable.reload()).toThrow('requests_per_minute must be a whole number');
    expect(chargeOn(admission)).toBe(false);
    writeFileSync(path, 'default_policy: {requests_per_minute: 1}\ntenants: []\n');
    await reloadable.reload();
    expect(chargeOn(admission)).toBe(false);
    writeFileSync(path, 'default_policy: {requests_per_minute: 2}\n');
    await reloadable.reload();
    expect(chargeOn(admission)).toBe(true);
    for (const name of ['smg_tenant_rate_limit_total', 'smg_http_rate_limit_total']) {
      expect(metrics.value(name, 'allowed')).toBe(2);
      expect(metrics.value(name, 'rejected')).toBe(3);
    }
  });
});

function* moduleTokens(module: TestingModule): Iterable<unknown> {
  const container = Reflect.get(module, 'container') as {
    getModules(): Map<string, { providers: Map<unknown, unknown> }>;
  };
  for (const { providers } of container.getModules().values()) yield* providers.keys();
}
