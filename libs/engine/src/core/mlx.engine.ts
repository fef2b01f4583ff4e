import { type AskEngine, type EngineAdapter, type EngineFacts } from '@smg/plugin-api';
import { discoverNative } from './native-discovery';

/** MLX; never guessed, only named by an operator. */
export class MlxEngine implements EngineAdapter {
  readonly name = 'mlx';
  readonly recognition = { ownedBy: [], order: 1030 } as const;

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverNative(ask);
  }
}
