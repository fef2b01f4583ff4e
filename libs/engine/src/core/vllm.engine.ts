import {
  type AskEngine,
  type ControlCall,
  type ControlEffect,
  type EngineAdapter,
  type EngineCapabilities,
  type EngineFacts,
} from '@smg/plugin-api';
import { discoverOpenAi } from './native-discovery';
import { vllmEffects } from './vllm-control';

/** vLLM: model list and `/version`. `/version` is tried before SGLang's path. */
export class VllmEngine implements EngineAdapter {
  readonly name = 'vllm';
  readonly recognition = { ownedBy: ['vllm'], path: '/version', order: 10 } as const;
  readonly capabilities: EngineCapabilities = {
    pauseModes: ['abort', 'wait', 'keep'],
    updateFrom: ['disk', 'distributed'],
    abort: false,
    flushCache: false,
    sleepWake: true,
    reportsWeightVersion: false,
  };

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverOpenAi(ask);
  }

  effectsOf(call: ControlCall): readonly ControlEffect[] {
    return vllmEffects(call);
  }
}
