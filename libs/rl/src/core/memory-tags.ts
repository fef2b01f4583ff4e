import { type MemoryTag } from '@smg/plugin-api';

/** Sets of memory tags as bits: compared, joined and taken apart without allocation. */
const ORDER: readonly MemoryTag[] = ['weights', 'kv_cache', 'cuda_graph'];

/** Everything an engine can release. */
export const ALL_MEMORY = (1 << ORDER.length) - 1;

/** Bits of the tags; of all of them when none is named. Source: SMG contract, decision on sleep. */
export function memoryBits(tags: readonly MemoryTag[]): number {
  if (tags.length === 0) return ALL_MEMORY;
  let bits = 0;
  for (const tag of tags) {
    const at = ORDER.indexOf(tag);
    if (at >= 0) bits |= 1 << at;
  }
  return bits;
}

/** The tags of a set, in a fixed order. */
export function memoryTags(bits: number): readonly MemoryTag[] {
  return ORDER.filter((_, at) => (bits & (1 << at)) !== 0);
}
