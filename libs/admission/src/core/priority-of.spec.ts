import { type PriorityRank } from './priority-class';
import { PriorityOf } from './priority-of';
import { DEFAULT_PLAN } from './scheduler-file';
import { TenantLabels } from './tenant-labels';

describe('PriorityOf', () => {
  const seen: unknown[] = [];
  const of = (value: string | undefined, most: PriorityRank = 0, tenant?: string): PriorityRank => {
    seen.length = 0;
    const plan = { ...DEFAULT_PLAN, maxClassOf: new Map([['auth:vip', 0 as const]]) };
    const priority = new PriorityOf(plan, most, undefined, {
      clamped: (...what) => seen.push(what),
      unknown: (...what) => seen.push(what),
    });
    return priority.of({
      authenticatedTenant: tenant,
      peer: '10.0.0.1',
      header: (name) => (name === 'x-smg-priority' ? value : undefined),
    });
  };

  it.each([
    ['system', 0],
    ['interactive', 1],
    ['default', 2],
    ['bulk', 3],
    [' BuLk\t', 3],
    [undefined, 2],
  ] as const)('%j is class %i, and nothing to count', (value, rank) => {
    expect(of(value)).toBe(rank);
    expect(seen).toEqual([]);
  });

  it.each(['', ' ', 'urgent', 'bulk, system', 'constructor'])(
    '%j is unknown, and counted',
    (value) => {
      expect(of(value)).toBe(2);
      expect(seen).toEqual([['ip:10.0.0.1']]);
    },
  );

  it('nobody gets more than allowed, by default or by policy', () => {
    expect(of('system', 1)).toBe(1);
    expect(seen).toEqual([['ip:10.0.0.1', 0, 1]]);
    expect(of(undefined, 3)).toBe(3);
    expect(of('bulk', 1)).toBe(3);
    expect(seen).toEqual([]);
    expect(of('system', 3, 'auth:vip')).toBe(0);
  });
});

describe('TenantLabels', () => {
  it('names the first ones, and puts the others together', () => {
    const labels = new TenantLabels(2);
    expect(['a', 'b', 'c', 'a', 'd'].map((tenant) => labels.of(tenant))).toEqual([
      'a',
      'b',
      'other',
      'a',
      'other',
    ]);
    expect(new TenantLabels(0).of('a')).toBe('other');
  });

  it('shows neither a hash of the shared key nor what clients choose', () => {
    const labels = new TenantLabels(9);
    const tenants = [`auth:${'0f'.repeat(32)}`, 'ip:10.0.0.1', 'header:canary', 'auth:acme'];
    expect(tenants.map((tenant) => labels.of(tenant))).toEqual([
      'shared',
      'ip',
      'header',
      'auth:acme',
    ]);
  });
});
