import {
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { countCharacters } from '@smg/kv-index';
import { evenRanges, fittedRanges, rangeOf } from './bucket-ranges';
import { SentWindow } from './sent-window';
import { MAX_TIMER_MS, PROCESS_TIMERS, type Timers } from './timers';
import { anyOf } from './worker-list';

/** Prefill workers of a model, the sizes each takes, and what each was sent. */
interface Buckets {
  workers: WorkerView[];
  uppers: number[];
  window: SentWindow;
  /** Size per worker that the ranges were fitted to; 0: not fitted yet. */
  share: number;
}

/**
 * bucket: prompts of like length share a prefill worker, so that long ones do not stand in the way of
 * short ones. Where there is no prefill leg it is a uniform choice. Source: SMG contract, bucket.
 */
export class BucketPolicy implements RoutingPolicy {
  readonly name = 'bucket';
  private readonly models = new Map<string, Buckets>();
  private readonly windowMs: number;
  private readonly stopAdjusting: () => void;

  constructor(
    private readonly parameters: RoutingPolicyParameters,
    private readonly timers: Timers = PROCESS_TIMERS,
  ) {
    this.windowMs = Math.min(parameters.bucketAdjustIntervalSecs * 1000, MAX_TIMER_MS);
    this.stopAdjusting = timers.every(this.windowMs, () => {
      this.adjust();
    });
  }

  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    const model = candidates[0]?.modelId;
    const buckets = model === undefined ? undefined : this.models.get(model);
    if (buckets === undefined) return anyOf(candidates, this.parameters.random);
    const size = sizeOf(context);
    const now = this.timers.now();
    buckets.window.expire(now);
    const place = this.placeFor(buckets, size);
    const owner = buckets.workers[place];
    if (owner !== undefined && candidates.includes(owner)) {
      buckets.window.record(place, size, now);
      return owner;
    }
    return this.insteadOf(buckets, candidates, size, now);
  }

  addWorker(worker: WorkerView): void {
    if (worker.workerType !== 'prefill') return;
    const workers = this.models.get(worker.modelId)?.workers ?? [];
    const others = workers.filter((known) => known.url !== worker.url);
    if (others.length < workers.length) {
      // The same place in the ranges for a worker that came back as another object.
      const at = workers.findIndex((known) => known.url === worker.url);
      workers[at] = worker;
      return;
    }
    this.models.set(worker.modelId, this.bucketsOf([...workers, worker]));
  }

  removeWorker(worker: WorkerView): void {
    for (const [model, { workers }] of this.models) {
      const others = workers.filter((known) => known.url !== worker.url);
      if (others.length === workers.length) continue;
      if (others.length === 0) this.models.delete(model);
      else this.models.set(model, this.bucketsOf(others));
    }
  }

  dispose(): void {
    this.stopAdjusting();
    this.models.clear();
  }

  private bucketsOf(workers: WorkerView[]): Buckets {
    return {
      workers,
      uppers: evenRanges(workers.length),
      window: new SentWindow(workers.length, this.windowMs),
      share: 0,
    };
  }

  /** The owner of the size; the worker that was sent least while what they were sent is uneven. */
  private placeFor({ workers, window, uppers }: Buckets, size: number): number {
    let most = -Infinity;
    let least = Infinity;
    let leastPlace = 0;
    for (let i = 0; i < workers.length; i++) {
      const sum = window.sumOf(i);
      if (sum > most) most = sum;
      if (sum < least) {
        least = sum;
        leastPlace = i;
      }
    }
    const { balanceAbsThreshold, balanceRelThreshold } = this.parameters;
    const isUneven = most - least > balanceAbsThreshold && most > balanceRelThreshold * least;
    return isUneven ? leastPlace : rangeOf(uppers, size);
  }

  /** The owner may not serve now: of those that may, the one that was sent least. */
  private insteadOf(
    { workers, window }: Buckets,
    candidates: readonly WorkerView[],
    size: number,
    now: number,
  ): WorkerView | undefined {
    let best = -1;
    for (let i = 0; i < workers.length; i++) {
      const worker = workers[i];
      if (worker === undefined || !candidates.includes(worker)) continue;
      if (best === -1 || window.sumOf(i) < window.sumOf(best)) best = i;
    }
    if (best === -1) return anyOf(candidates, this.parameters.random);
    window.record(best, size, now);
    return workers[best];
  }

  /** Fits the ranges to the last window, unless its volume is about what they were fitted to. */
  private adjust(): void {
    const now = this.timers.now();
    for (const buckets of this.models.values()) {
      const { window, workers } = buckets;
      window.expire(now);
      const share = window.total / workers.length;
      const before = buckets.share;
      if (share <= 0 || (before !== 0 && share <= before * 2 && share >= before / 2)) continue;
      buckets.share = share;
      buckets.uppers = fittedRanges(window.sortedSizes(), workers.length, share);
    }
  }
}

function sizeOf(context: SelectionContext): number {
  const tokens = context.routingTokens()?.length ?? 0;
  if (tokens > 0) return tokens;
  const text = context.routingText();
  return text === undefined ? 0 : countCharacters(text);
}

/** `--policy bucket` */
export class BucketFactory implements RoutingPolicyFactory {
  readonly name = 'bucket';

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new BucketPolicy(parameters);
  }
}
