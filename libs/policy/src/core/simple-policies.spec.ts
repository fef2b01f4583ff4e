import {
  describeRoutingPolicy,
  fakeContext,
  fakeWorkers,
  FakeMetrics,
  policyParameters,
  type FakeWorker,
} from '@smg/testing';
import { type RoutingPolicy } from '@smg/plugin-api';
import { createHashes, type Hashes } from '@smg/kv-index';
import { BucketFactory } from './bucket.policy';
import { CacheAwareFactory } from './cache-aware.policy';
import { ConsistentHashingFactory, hashingBranches } from './consistent-hashing.policy';
import { KeyMetrics } from './key-metrics';
import { LeastLoadFactory } from './least-load.policy';
import { ManualFactory } from './manual.policy';
import { PassthroughFactory } from './passthrough.policy';
import { PowerOfTwoFactory, PowerOfTwoPolicy } from './power-of-two.policy';
import { PrefixHashFactory, prefixBranches } from './prefix-hash.policy';
import { RandomFactory, RandomPolicy } from './random.policy';
import { RoundRobinFactory } from './round-robin.policy';

describeRoutingPolicy('round_robin', () => new RoundRobinFactory());
describeRoutingPolicy('random', () => new RandomFactory());
describeRoutingPolicy('passthrough', () => new PassthroughFactory());
describeRoutingPolicy('power_of_two', () => new PowerOfTwoFactory());
describeRoutingPolicy('cache_aware', () => new CacheAwareFactory());
describeRoutingPolicy(
  'cache_aware with a hash index',
  () => new CacheAwareFactory({ hashes }),
  () => policyParameters({ cacheIndex: 'hash', cacheBoundaries: [16, 64, 256] }),
);
describeRoutingPolicy('least_load', () => new LeastLoadFactory());
describeRoutingPolicy('bucket', () => new BucketFactory());
describeRoutingPolicy('manual', () => new ManualFactory(new KeyMetrics(new FakeMetrics())));
describeRoutingPolicy(
  'consistent_hashing',
  () => new ConsistentHashingFactory(hashes, hashingBranches(new FakeMetrics())),
);
describeRoutingPolicy(
  'prefix_hash',
  () => new PrefixHashFactory(hashes, prefixBranches(new FakeMetrics())),
);

let hashes: Hashes;
beforeAll(async () => {
  hashes = await createHashes();
});

const context = fakeContext();
const picks = (policy: RoutingPolicy, workers: readonly FakeWorker[], count: number) =>
  Array.from({ length: count }, () =>
    workers.indexOf(policy.select(workers, context) as FakeWorker),
  );

/** Plays a list of numbers in [0, 1). */
const scripted = (...values: number[]) => {
  let at = 0;
  return () => values[at++ % values.length]!;
};

describe('round_robin', () => {
  it('takes each candidate in turn', () => {
    const policy = new RoundRobinFactory().create();
    expect(picks(policy, fakeWorkers(3), 7)).toEqual([0, 1, 2, 0, 1, 2, 0]);
  });

  it('keeps one counter over slices of different length', () => {
    const policy = new RoundRobinFactory().create();
    const workers = fakeWorkers(3);
    picks(policy, workers, 2);
    expect(picks(policy, workers.slice(0, 2), 3)).toEqual([0, 1, 0]);
  });
});

describe('random', () => {
  it('divides [0, 1) evenly over the candidates', () => {
    const policy = new RandomPolicy(scripted(0, 0.24, 0.25, 0.5, 0.999999));
    expect(picks(policy, fakeWorkers(4), 5)).toEqual([0, 0, 1, 2, 3]);
  });
});

describe('passthrough', () => {
  it('takes the first candidate', () => {
    const policy = new PassthroughFactory().create();
    expect(picks(policy, fakeWorkers(3), 3)).toEqual([0, 0, 0]);
  });
});

describe('power_of_two', () => {
  it('takes the less loaded of two picks that are never the same', () => {
    const workers = fakeWorkers(3);
    workers[0]!.load = 5;
    workers[1]!.load = 1;
    workers[2]!.load = 9;
    // Second draws skip the first pick: (0, 0) means workers 0 and 1, (0.9, 0.9) workers 2 and 1.
    const policy = new PowerOfTwoPolicy(scripted(0, 0, 0.9, 0.9, 0.9, 0));
    expect(picks(policy, workers, 3)).toEqual([1, 1, 0]);
  });

  it('never takes the most loaded of several', () => {
    const workers = fakeWorkers(5);
    workers[3]!.load = 100;
    const policy = new PowerOfTwoFactory().create(policyParameters());
    expect(picks(policy, workers, 200)).not.toContain(3);
  });
});
