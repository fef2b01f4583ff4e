import { type WorkerSpecWire } from '@smg/protocol';
import { type Clock } from '../src/core/clock';
import { DEFAULT_REGISTRY_OPTIONS, type RegistryOptions } from '../src/core/registry-options';
import { defineWorker, type WorkerDefinition } from '../src/core/worker-definition';
import { parseWorkerUrl } from '../src/core/worker-url';

/** A clock that a test moves; the part of FakeClock that {@link testClock} needs. */
interface MovableTime {
  now(): number;
  setTimeout(run: () => void, ms: number): number;
  clearTimeout(id: number): void;
}

/** For tests of this lib: a {@link Clock} over a fake one. */
export function testClock(time: MovableTime): Clock {
  return {
    now: () => time.now(),
    after: (ms, run) => {
      const id = time.setTimeout(run, ms);
      return () => {
        time.clearTimeout(id);
      };
    },
  };
}

/** For tests of this lib: a definition of `url` that serves `models`. */
export function definitionOf(
  spec: WorkerSpecWire,
  options: RegistryOptions = DEFAULT_REGISTRY_OPTIONS,
): WorkerDefinition {
  const parsed = parseWorkerUrl(spec.url, spec.dp_rank);
  if (!parsed.ok) throw new Error(parsed.message);
  return defineWorker(spec, parsed.address, options);
}
