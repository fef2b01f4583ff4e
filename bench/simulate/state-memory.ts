import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A collection on demand, without a flag at the start. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

const collect = collector();

/** Bytes in use after a collection, Buffers included. */
export async function heldBytes(): Promise<number> {
  // Memory of Buffers is freed after the collection, in turns of its own.
  for (let i = 0; i < 2; i += 1) {
    collect();
    await setTimeout(5);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
