import { type AskEngine, type EngineAdapter, type EngineFacts } from '@smg/plugin-api';
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

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverNative(ask);
  }
}
