import { FakeClock } from '@smg/testing';
import { TenantLedger } from './tenant-ledger';
import { TenantLimits, type Limit, type TenantPolicy } from './tenant-limits';

const limit = (
  unit: 'requests' | 'tokens',
  perMinute: number,
  rule?: [id: string, type: 'exact' | 'prefix', value: string],
): Limit => ({
  unit,
  perMinute,
  ruleId: rule?.[0],
  matcher: rule === undefined ? undefined : { type: rule[1], value: rule[2] },
});
const policy = (...limits: Limit[]): TenantPolicy => ({ limits });
const limitsOf = (fallback?: TenantPolicy, named: Record<string, TenantPolicy> = {}) =>
  new TenantLimits(fallback, new Map(Object.entries(named)));
const cost = (tokens = 1, model = 'm') => ({ model, tokens });

describe('TenantLedger', () => {
  let clock: FakeClock;
  const ledgerOf = (limits: TenantLimits, capacity = 100) =>
    new TenantLedger(limits, clock.now, capacity);
  beforeEach(() => {
    clock = new FakeClock(5_000);
  });

  it('keeps tenants apart, and lets those pass that nothing limits', () => {
    const ledger = ledgerOf(limitsOf(undefined, { 'header:a': policy(limit('requests', 1)) }));
    expect(ledger.take('header:a', cost())).toBeUndefined();
    expect(ledger.take('header:a', cost())).toMatchObject({ waitMs: 60_000 });
    for (let i = 0; i < 5; i += 1) expect(ledger.take('header:b', cost())).toBeUndefined();
    expect(ledger.size).toBe(1);
  });

  it('takes from all limits or from none, and names the one that waits longest', () => {
    const ledger = ledgerOf(
      limitsOf(
        policy(
          limit('requests', 2),
          limit('tokens', 100),
          limit('tokens', 10, ['small', 'prefix', 'big-']),
        ),
      ),
    );
    // The rule refuses: neither the requests nor the tokens of the tenant are touched.
    for (let i = 0; i < 5; i += 1) {
      expect(ledger.take('t', cost(11, 'big-1'))).toMatchObject({
        waitMs: Infinity,
        limit: { ruleId: 'small' },
      });
    }
    expect(ledger.take('t', cost(50))).toBeUndefined();
    expect(ledger.take('t', cost(50))).toBeUndefined();
    expect(ledger.take('t', cost(100))).toMatchObject({
      waitMs: 60_000,
      limit: { unit: 'tokens', ruleId: undefined },
    });
  });

  it('applies every rule that is about the model', () => {
    const ledger = ledgerOf(
      limitsOf(
        policy(
          limit('requests', 3, ['family', 'prefix', 'llama']),
          limit('requests', 1, ['one', 'exact', 'llama-70b']),
        ),
      ),
    );
    expect(ledger.take('t', cost(1, 'llama-70b'))).toBeUndefined();
    expect(ledger.take('t', cost(1, 'llama-70b'))?.limit.ruleId).toBe('one');
    expect(ledger.take('t', cost(1, 'llama-8b'))).toBeUndefined();
    expect(ledger.take('t', cost(1, 'llama-8b'))).toBeUndefined();
    expect(ledger.take('t', cost(1, 'llama-8b'))?.limit.ruleId).toBe('family');
    expect(ledger.take('t', cost(1, 'qwen'))).toBeUndefined();
  });

  it('settles both ways, and gives a request back that failed', () => {
    const ledger = ledgerOf(limitsOf(policy(limit('requests', 2), limit('tokens', 100))));
    const taken = cost(80);
    expect(ledger.take('t', taken)).toBeUndefined();
    expect(ledger.take('t', cost(30))?.waitMs).toBe(6_000);
    ledger.settle('t', taken, 70);
    expect(ledger.take('t', cost(30))).toBeUndefined();
    expect(ledger.take('t', cost(0))).toMatchObject({ limit: { unit: 'requests' } });
    ledger.refund('t', cost(30));
    expect(ledger.take('t', cost(30))).toBeUndefined();
    ledger.settle('t', cost(30), 130);
    expect(ledger.take('t', cost(1))?.waitMs).toBe(60_600);
  });

  it('settles a long answer with a tenant that was forgotten meanwhile', () => {
    const ledger = ledgerOf(limitsOf(policy(limit('tokens', 100))), 2);
    const taken = cost(10);
    ledger.take('ip:1', taken);
    clock.advance(60_000);
    for (const other of ['ip:2', 'ip:3', 'ip:4']) ledger.take(other, cost());
    ledger.settle('ip:1', taken, 160);
    expect(ledger.take('ip:1', cost(1))?.waitMs).toBe(30_600);
  });

  describe('with more tenants than it keeps', () => {
    it('never grows beyond its capacity', () => {
      const ledger = ledgerOf(limitsOf(policy(limit('requests', 5), limit('tokens', 50))), 50);
      for (let i = 0; i < 5_000; i += 1) {
        const tenant = `ip:${i % 1_013}`;
        if (ledger.take(tenant, cost(3)) === undefined && i % 3 === 0) {
          ledger.settle(tenant, cost(3), 40);
        }
        clock.advance(i % 7);
        expect(ledger.size).toBeLessThanOrEqual(50);
      }
    });

    it('forgets what is full again before anything else', () => {
      const ledger = ledgerOf(limitsOf(policy(limit('requests', 2))), 3);
      ledger.take('ip:old', cost());
      clock.advance(29_000);
      for (const tenant of ['ip:a', 'ip:b']) {
        ledger.take(tenant, cost());
        ledger.take(tenant, cost());
      }
      clock.advance(1_000);
      ledger.take('ip:new', cost());
      expect(ledger.size).toBe(3);
      for (const tenant of ['ip:a', 'ip:b']) expect(ledger.take(tenant, cost())).toBeDefined();
    });

    it('keeps those in debt, those with a key and those with a name through a flood', () => {
      const small = policy(limit('requests', 100), limit('tokens', 10));
      const ledger = ledgerOf(limitsOf(small, { 'header:named': small }), 10);
      ledger.take('ip:debtor', cost(1));
      ledger.settle('ip:debtor', cost(1), 100);
      for (const tenant of ['auth:key', 'header:named']) ledger.take(tenant, cost(10));
      for (let i = 0; i < 1_000; i += 1) ledger.take(`ip:${i}`, cost(1));
      expect(ledger.size).toBeLessThanOrEqual(12);
      for (const tenant of ['ip:debtor', 'auth:key', 'header:named']) {
        expect(ledger.take(tenant, cost(1))).toBeDefined();
      }
    });

    it('lets go of debtors too when there are only those', () => {
      const ledger = ledgerOf(limitsOf(policy(limit('tokens', 10))), 5);
      for (let i = 0; i < 50; i += 1) {
        ledger.take(`ip:${i}`, cost(1));
        ledger.settle(`ip:${i}`, cost(1), 300);
      }
      expect(ledger.size).toBeLessThanOrEqual(5);
      clock.advance(31 * 60_000);
      for (let i = 100; i < 105; i += 1) ledger.take(`ip:${i}`, cost(1));
      expect(ledger.take('ip:49', cost(10))).toBeUndefined();
    });
  });

  describe('after a reload', () => {
    it('keeps the fill of limits that are the same, and starts the others anew', () => {
      const before = policy(limit('requests', 3), limit('tokens', 100));
      const ledger = ledgerOf(limitsOf(before));
      ledger.take('t', cost(100));
      ledger.replace(limitsOf(policy(limit('requests', 3), limit('tokens', 200))));
      expect(ledger.take('t', cost(200))).toBeUndefined();
      expect(ledger.take('t', cost(1))).toMatchObject({ limit: { unit: 'tokens' } });
      ledger.refund('t', cost(200));
      ledger.replace(limitsOf(policy(limit('tokens', 200), limit('requests', 3))));
      expect(ledger.take('t', cost(1))).toBeUndefined();
      expect(ledger.take('t', cost(1))).toBeUndefined();
      expect(ledger.take('t', cost(1))).toMatchObject({ limit: { unit: 'requests' } });
    });

    it('a rule about another model is another limit', () => {
      const ledger = ledgerOf(limitsOf(policy(limit('requests', 1, ['r', 'exact', 'm']))));
      ledger.take('t', cost());
      ledger.replace(limitsOf(policy(limit('requests', 1, ['r', 'prefix', 'm']))));
      expect(ledger.take('t', cost())).toBeUndefined();
    });

    it('forgets tenants that nothing limits any more, and settles them in peace', () => {
      const ledger = ledgerOf(limitsOf(policy(limit('requests', 1))));
      ledger.take('t', cost());
      ledger.replace(limitsOf(undefined, { 'auth:x': policy() }));
      expect(ledger.size).toBe(0);
      ledger.settle('t', cost(), 5);
      ledger.refund('t', cost());
      expect(ledger.take('t', cost())).toBeUndefined();
    });
  });
});
