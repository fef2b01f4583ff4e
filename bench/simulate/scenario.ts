import { type EngineSpec } from './engine';
import { type FleetOptions } from './fleet';

/** A fleet and the time it is watched. */
export interface Scenario {
  readonly name: string;
  readonly workers: number;
  readonly leg: FleetOptions['leg'];
  /** Simulated seconds, the warm-up included. */
  readonly seconds: number;
  /** Seconds at the start that are left out of the figures. */
  readonly warmUp: number;
  /** Requests per second and worker. */
  readonly rate: number;
  readonly engine: EngineSpec;
  readonly refit: Refit;
}

/** New weights in every engine, a group of workers after the other. */
export interface Refit {
  /** Second at which the first group is taken out. */
  readonly at: number;
  readonly groups: number;
  /** Seconds a group takes no new requests. */
  readonly pause: number;
}

/** About a 70B model on a node: what matters is how its parts relate, not the scale. */
export const ENGINE: EngineSpec = {
  prefillRate: 8_000,
  prefillOverhead: 15,
  decodeBase: 20,
  decodePerRequest: 0.3,
  maxRunning: 64,
  kvCapacity: 300_000,
  decodes: true,
};

/** Seconds to watch: long enough that the smallest fleet has thousands of requests. */
const SECONDS: Readonly<Record<number, number>> = { 8: 600, 64: 240, 512: 100 };

export const FLEETS: readonly number[] = [8, 64, 512];
/** Requests per second and worker at which the sweep looks. */
export const SWEEP_RATES: readonly number[] = [1, 2, 3, 4, 5];
export const RATE = 2.6;

export interface ScenarioOptions {
  readonly workers: number;
  readonly leg: Scenario['leg'];
  readonly rate: number;
  /** Seconds; undefined: by the size of the fleet. */
  readonly seconds: number | undefined;
  readonly hasRefit: boolean;
}

export function scenarioOf({ workers, leg, rate, seconds, hasRefit }: ScenarioOptions): Scenario {
  const length = seconds ?? SECONDS[workers] ?? 240;
  const groups = Math.min(8, workers);
  return {
    name: leg === 'regular' ? `${workers} workers` : `${workers} prefill workers`,
    workers,
    leg,
    seconds: length,
    warmUp: length * 0.2,
    rate,
    engine: { ...ENGINE, decodes: leg === 'regular' },
    refit: { at: hasRefit ? length * 0.55 : Infinity, groups, pause: (length * 0.2) / groups },
  };
}
