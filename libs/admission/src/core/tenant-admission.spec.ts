import { FakeClock, FakeMetrics } from '@smg/testing';
import { type ChargeOutcome } from '@smg/plugin-api';
import { TenantAdmission } from './tenant-admission';
import { readTenantLimits } from './tenant-limits-file';
import { TenantLedger } from './tenant-ledger';

describe('TenantAdmission', () => {
  let clock: FakeClock;
  let metrics: FakeMetrics;
  const admissionOf = (policy: string) => {
    const family = metrics.counter({ name: 'n', help: '', labels: ['result'] });
    return new TenantAdmission(
      new TenantLedger(readTenantLimits(policy, 'f'), clock.now, 100),
      undefined,
      { allowed: [family.cell('allowed')], rejected: [family.cell('rejected')] },
    );
  };
  const charge = (admission: TenantAdmission, tokens = 0, tenant = 'ip:1') =>
    admission.charge({ tenant, model: 'm', tokens });
  const taken = (outcome: ChargeOutcome) => {
    if (!outcome.allowed) throw new Error(outcome.message);
    return outcome;
  };
  beforeEach(() => {
    clock = new FakeClock();
    metrics = new FakeMetrics();
  });

  it('says in whole seconds when there is enough, and keeps that promise', () => {
    const admission = admissionOf('default_policy: {requests_per_minute: 7}');
    for (let i = 0; i < 7; i += 1) expect(charge(admission).allowed).toBe(true);
    clock.advance(1);
    // A seventh of a minute is 8.57 s, of which 1 ms has passed.
    expect(charge(admission)).toEqual({
      allowed: false,
      retryAfterSecs: 9,
      message: "the tenant's budget of 7 requests per minute is used up; try again in 9 s",
    });
    clock.advance(8_000);
    expect(charge(admission)).toMatchObject({ allowed: false, retryAfterSecs: 1 });
    clock.advance(1_000);
    expect(charge(admission).allowed).toBe(true);
    expect(metrics.value('n', 'allowed')).toBe(8);
    expect(metrics.value('n', 'rejected')).toBe(2);
  });

  it('names no time for what can never fit', () => {
    const admission = admissionOf('default_policy: {tokens_per_minute: 100}');
    expect(charge(admission, 101)).toEqual({
      allowed: false,
      retryAfterSecs: undefined,
      message:
        'the request may use 101 tokens; the tenant may use no more than 100 tokens per minute',
    });
    for (const tokens of [Infinity, Number.MAX_VALUE, 2 ** 53]) {
      expect(charge(admission, tokens)).toMatchObject({ retryAfterSecs: undefined });
    }
    expect(charge(admission, 100).allowed).toBe(true);
  });

  it('a request of unknown size does not pass while the tenant owes', () => {
    const admission = admissionOf('default_policy: {tokens_per_minute: 60}');
    taken(charge(admission, NaN)).settle(180);
    expect(charge(admission, 0)).toMatchObject({ allowed: false, retryAfterSecs: 121 });
  });

  it('settles or refunds once', () => {
    const admission = admissionOf(
      'default_policy: {requests_per_minute: 1, tokens_per_minute: 60}',
    );
    const first = taken(charge(admission, 60));
    first.refund();
    const second = taken(charge(admission, 60));
    first.refund();
    first.settle(0);
    expect(charge(admission).allowed).toBe(false);
    second.settle(-5);
    second.refund();
    expect(charge(admission)).toMatchObject({ allowed: false, retryAfterSecs: 60 });
  });

  it('names the rule', () => {
    const admission = admissionOf(
      'default_policy: {model_rules: [{rule_id: r1, matcher: {type: exact, value: m}, requests_per_minute: 0}]}',
    );
    expect(charge(admission)).toMatchObject({
      message: 'the tenant may use no more than 0 requests per minute (rule r1)',
    });
  });

  it('counts what nothing limits as allowed', () => {
    const admission = admissionOf('tenants: []');
    const outcome = taken(charge(admission, 10));
    outcome.settle(1);
    outcome.refund();
    expect(metrics.value('n', 'allowed')).toBe(1);
  });
});
