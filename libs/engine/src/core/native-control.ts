import { type ControlCall, type ControlEffect } from '@smg/plugin-api';
import { memoryEffect, publishedVersion, tagsOfBody } from './control-call';

/** Control routes of SGLang, and of every engine that took them over. */
export function nativeEffects(call: ControlCall): readonly ControlEffect[] {
  switch (call.path) {
    case 'pause_generation':
      return [{ kind: 'pause' }];
    case 'continue_generation':
      return [{ kind: 'resume' }];
    case 'release_memory_occupation':
      return memoryEffect('release', tagsOfBody(call.body));
    case 'resume_memory_occupation':
      return memoryEffect('restore', tagsOfBody(call.body));
    case 'update_weights_from_disk':
    case 'update_weights_from_tensor':
    case 'update_weights_from_distributed':
    case 'update_weights_from_ipc':
      return publishedVersion(call.body, 'weight_version');
    case 'update_weight_version':
      return publishedVersion(call.body, 'new_version');
    default:
      return [];
  }
}
