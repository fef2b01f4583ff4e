import { strict as assert } from 'node:assert';
import { type RoutingPolicyFactory, type RoutingPolicyParameters } from '@smg/plugin-api';
import { isThenable, runner } from './runner';
import { sampleSelections } from './sample-selections';

/** A fixed sequence in [0, 1): every run takes the same decisions. */
function fixedRandom(): () => number {
  let state = 42;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Parameters as the command line has them by default, with fixed randomness. */
export function policyParameters(
  more: Partial<RoutingPolicyParameters> = {},
): RoutingPolicyParameters {
  return {
    cacheThreshold: 0.3,
    balanceAbsThreshold: 64,
    balanceRelThreshold: 1.5,
    evictionIntervalSecs: 120,
    maxTreeSize: 1 << 20,
    balanceTokenUsageThreshold: 1,
    overloadTokenUsageThreshold: 1,
    overlapDecay: 0,
    selectionTemperature: 0,
    blockSize: 16,
    cacheIndex: 'tree',
    cacheBoundaries: [],
    cacheTtlSecs: 180,
    maxIdleSecs: 14_400,
    assignmentMode: undefined,
    prefixTokenCount: 256,
    prefixHashLoadFactor: 1.25,
    prefixHashBalanceAbsThreshold: 10,
    leastLoad: {
      kvPressureWeight: 0.15,
      defaultThroughput: 2000,
      meanPrefillTokens: 1024,
      maxWaitingRequests: 0,
    },
    bucketAdjustIntervalSecs: 5,
    loads: { reportOf: () => undefined },
    random: fixedRandom(),
    ...more,
  };
}

/** Declares a suite that holds a policy to the contract of `RoutingPolicy`. */
export function describeRoutingPolicy(
  name: string,
  make: () => RoutingPolicyFactory,
  parameters: () => RoutingPolicyParameters = policyParameters,
): void {
  const { describe, it } = runner();
  describe(`${name} keeps the contract of a routing policy`, () => {
    it('has a name and gives it to its instances', () => {
      const factory = make();
      assert.match(factory.name, /^[a-z0-9][a-z0-9_-]*$/);
      const policy = factory.create(parameters());
      assert.equal(policy.name, factory.name);
      policy.dispose?.();
    });

    for (const { title, candidates, context } of sampleSelections()) {
      it(`${title}: picks one of the candidates, or nobody`, () => {
        const policy = make().create(parameters());
        for (const worker of candidates) policy.addWorker?.(worker);
        for (let turn = 0; turn < 25; turn += 1) {
          const picked = policy.select(candidates, context);
          assert.ok(!isThenable(picked), 'select must be synchronous');
          if (picked !== undefined) {
            assert.ok(candidates.includes(picked), `${picked.url} is no candidate`);
          }
        }
        policy.dispose?.();
      });

      it(`${title}: picks only from a narrowed slice`, () => {
        const policy = make().create(parameters());
        for (const worker of candidates) policy.addWorker?.(worker);
        for (let turn = 0; turn < 5; turn += 1) policy.select(candidates, context);
        const last = Object.freeze(candidates.slice(-1));
        for (let turn = 0; turn < 5; turn += 1) {
          const picked = policy.select(last, context);
          assert.ok(picked === undefined || picked === last[0]);
        }
        policy.dispose?.();
      });

      it(`${title}: takes workers coming, going and losing their cache`, () => {
        const policy = make().create(parameters());
        const [first] = candidates;
        assert.ok(first !== undefined);
        // Removal and reset of a worker it never saw are allowed too.
        policy.removeWorker?.(first);
        policy.resetWorker?.(first);
        for (const worker of candidates) policy.addWorker?.(worker);
        policy.select(candidates, context);
        policy.resetWorker?.(first);
        policy.select(candidates, context);
        policy.removeWorker?.(first);
        const rest = Object.freeze(candidates.slice(1));
        const picked = rest.length === 0 ? undefined : policy.select(rest, context);
        assert.ok(picked !== first, 'a removed worker was picked');
        policy.addWorker?.(first);
        const again = policy.select(candidates, context);
        assert.ok(again === undefined || candidates.includes(again));
        policy.dispose?.();
      });
    }

    it('can be disposed of twice', () => {
      const policy = make().create(parameters());
      policy.dispose?.();
      policy.dispose?.();
    });
  });
}
