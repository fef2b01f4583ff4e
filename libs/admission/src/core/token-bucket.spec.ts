import fc from 'fast-check';
import { TokenBucket } from './token-bucket';

const perMinute = fc.oneof(
  fc.integer({ min: 1, max: 100 }),
  fc.constantFrom(1, 7, 60, 61, 59_999, 60_001, 2 ** 32 - 1),
  fc.integer({ min: 1, max: 2 ** 32 - 1 }),
);

/** A step: time passes, then somebody asks for a share of the budget. */
const steps = fc.array(
  fc.record({
    wait: fc.oneof(
      fc.integer({ min: 0, max: 5_000 }),
      fc.constantFrom(0, 60_000, 30 * 60_000, 10 ** 9),
    ),
    share: fc.double({ min: 0, max: 1.2, noNaN: true }),
  }),
  { maxLength: 60 },
);

describe('TokenBucket', () => {
  it('starts full, empties, and refills by the millisecond', () => {
    const bucket = new TokenBucket(60, 1_000);
    expect(bucket.waitFor(60, 1_000)).toBe(0);
    bucket.take(60, 1_000);
    expect(bucket.levelAt(1_000)).toBe(0);
    expect(bucket.waitFor(1, 1_000)).toBe(1_000);
    expect(bucket.waitFor(1, 1_999)).toBe(1);
    expect(bucket.waitFor(1, 2_000)).toBe(0);
    expect(bucket.levelAt(31_000)).toBe(30);
    expect(bucket.levelAt(10 ** 12)).toBe(60);
  });

  it('says of what can never fit that it never does', () => {
    const bucket = new TokenBucket(5, 0);
    expect(bucket.waitFor(6, 0)).toBe(Infinity);
    expect(bucket.waitFor(5, 0)).toBe(0);
    const closed = new TokenBucket(0, 0);
    expect(closed.waitFor(1, 10 ** 9)).toBe(Infinity);
    expect(closed.fullAt).toBe(0);
  });

  it('owes what was used beyond the estimate, up to half an hour', () => {
    const bucket = new TokenBucket(10, 0);
    bucket.take(25, 0);
    expect(bucket.levelAt(0)).toBe(-15);
    expect(bucket.solventAt).toBe(90_000);
    expect(bucket.fullAt).toBe(150_000);
    // Even what costs nothing waits until the debt is paid.
    expect(bucket.waitFor(0, 0)).toBe(90_000);
    bucket.take(2 ** 32, 0);
    expect(bucket.levelAt(0)).toBe(-300);
    expect(bucket.waitFor(1, 0)).toBe(30 * 60_000 + 6_000);
  });

  it('is never above its capacity, whatever is given back', () => {
    fc.assert(
      fc.property(
        perMinute,
        fc.array(fc.tuple(fc.nat(90_000), fc.integer({ min: -(2 ** 32), max: 2 ** 32 }))),
        (limit, moves) => {
          const bucket = new TokenBucket(limit, 0);
          let at = 0;
          for (const [wait, amount] of moves) {
            at += wait;
            bucket.take(amount, at);
            expect(bucket.levelAt(at)).toBeLessThanOrEqual(limit);
            expect(bucket.levelAt(at)).toBeGreaterThanOrEqual(-30 * limit);
          }
        },
      ),
    );
  });

  it('admits no more in any window than one budget and what the window refills', () => {
    fc.assert(
      fc.property(perMinute, steps, (limit, plan) => {
        const bucket = new TokenBucket(limit, 0);
        const admitted: { at: number; amount: number }[] = [];
        let at = 0;
        for (const { wait, share } of plan) {
          at += wait;
          const amount = Math.floor(share * limit);
          if (bucket.waitFor(amount, at) > 0) continue;
          bucket.take(amount, at);
          admitted.push({ at, amount });
        }
        admitted.forEach((first, from) => {
          let sum = 0n;
          for (const { at: end, amount } of admitted.slice(from)) {
            sum += BigInt(amount);
            // sum <= limit * (1 + elapsed / 60,000), without rounding
            const most = BigInt(limit) * (60_000n + BigInt(end - first.at));
            expect(sum * 60_000n <= most).toBe(true);
          }
        });
      }),
    );
  });

  it('has room after exactly the wait it named, and not a millisecond before', () => {
    fc.assert(
      fc.property(
        perMinute,
        steps,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (limit, plan, share) => {
          const bucket = new TokenBucket(limit, 0);
          let at = 0;
          for (const step of plan) {
            at += Math.min(step.wait, 60_000);
            bucket.take(Math.floor(step.share * limit), at);
          }
          const amount = Math.floor(share * limit);
          const wait = bucket.waitFor(amount, at);
          expect(Number.isSafeInteger(wait)).toBe(true);
          if (wait === 0) return;
          expect(bucket.waitFor(amount, at + wait - 1)).toBe(1);
          expect(bucket.waitFor(amount, at + wait)).toBe(0);
        },
      ),
    );
  });

  it('is the same as a new one from fullAt on', () => {
    fc.assert(
      fc.property(perMinute, fc.integer({ min: 0, max: 2 ** 32 }), (limit, amount) => {
        const bucket = new TokenBucket(limit, 0);
        bucket.take(amount, 0);
        const { fullAt } = bucket;
        expect(bucket.levelAt(fullAt)).toBe(limit);
        const before = new TokenBucket(limit, 0);
        before.take(amount, 0);
        if (fullAt > 0) expect(before.levelAt(fullAt - 1)).toBeLessThan(limit);
      }),
    );
  });

  it('takes a clock that stands still, or goes back, for no time', () => {
    const bucket = new TokenBucket(60, 5_000);
    bucket.take(60, 5_000);
    expect(bucket.levelAt(4_000)).toBe(0);
    expect(bucket.levelAt(6_000)).toBe(1);
  });
});
