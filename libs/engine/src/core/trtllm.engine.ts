import { type AskEngine, type EngineAdapter, type EngineFacts } from '@smg/plugin-api';
import { discoverNative } from './native-discovery';

/** TensorRT-LLM; never guessed, only named by an operator. */
export class TrtllmEngine implements EngineAdapter {
  readonly name = 'trtllm';
  readonly recognition = { ownedBy: [], order: 1010 } as const;

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverNative(ask);
  }
}
