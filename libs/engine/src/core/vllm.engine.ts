import { type AskEngine, type EngineAdapter, type EngineFacts } from '@smg/plugin-api';
import { discoverOpenAi } from './native-discovery';

/** vLLM: model list and `/version`. `/version` is tried before SGLang's path. */
export class VllmEngine implements EngineAdapter {
  readonly name = 'vllm';
  readonly recognition = { ownedBy: ['vllm'], path: '/version', order: 10 } as const;

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverOpenAi(ask);
  }
}
