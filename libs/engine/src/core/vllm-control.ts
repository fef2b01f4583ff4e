import { type ControlCall, type ControlEffect } from '@smg/plugin-api';
import { memoryEffect, publishedVersion, queryValues } from './control-call';

/** The tag of `wake_up` that stands for scheduling, not for memory: it ends `sleep?level=0`. */
const SCHEDULING = 'scheduling';
const ZERO = /^[+-]?0+$/;

/** Control routes of vLLM; their parameters are in the query. */
export function vllmEffects(call: ControlCall): readonly ControlEffect[] {
  switch (call.path) {
    case 'pause':
      return [{ kind: 'pause' }];
    case 'resume':
      return [{ kind: 'resume' }];
    case 'sleep':
      return sleep(call.query);
    case 'wake_up':
      return wakeUp(call.query);
    case 'finish_weight_update':
      return publishedVersion(call.body, 'weight_version');
    case 'update_weight_version':
      return publishedVersion(call.body, 'new_version');
    default:
      return [];
  }
}

/** Level 0 only stops scheduling; 1 and 2 give weights and KV cache up. vLLM has no tag for graphs. */
function sleep(query: string): readonly ControlEffect[] {
  const level = queryValues(query, 'level').at(-1)?.trim();
  if (level !== undefined && ZERO.test(level)) return [{ kind: 'pause' }];
  return [{ kind: 'release', tags: ['weights', 'kv_cache'] }];
}

function wakeUp(query: string): readonly ControlEffect[] {
  const named = queryValues(query, 'tags').filter((tag) => tag !== '');
  if (!named.includes(SCHEDULING)) return memoryEffect('restore', named);
  const memory = named.filter((tag) => tag !== SCHEDULING);
  const restored = memory.length === 0 ? [] : memoryEffect('restore', memory);
  return [...restored, { kind: 'resume' }];
}
