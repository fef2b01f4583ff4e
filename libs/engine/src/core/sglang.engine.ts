import {
  type AskEngine,
  type ControlCall,
  type ControlEffect,
  type EngineAdapter,
  type EngineCapabilities,
  type EngineFacts,
} from '@smg/plugin-api';
import { nativeEffects } from './native-control';
import { discoverNative } from './native-discovery';

/** SGLang: full metadata under `/server_info` and `/model_info`. */
export class SglangEngine implements EngineAdapter {
  readonly name = 'sglang';
  readonly recognition = {
    ownedBy: ['sglang', 'nvidia'],
    path: '/server_info',
    order: 20,
    fallback: 'silent',
  } as const;
  readonly capabilities: EngineCapabilities = {
    pauseModes: ['abort', 'retract', 'in_place'],
    updateFrom: ['disk', 'tensor', 'distributed'],
    abort: true,
    flushCache: true,
    sleepWake: true,
    reportsWeightVersion: true,
  };

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverNative(ask);
  }

  effectsOf(call: ControlCall): readonly ControlEffect[] {
    return nativeEffects(call);
  }
}
