import { type AskEngine, type EngineAdapter, type EngineFacts } from '@smg/plugin-api';
import { discoverNative } from './native-discovery';

/** TokenSpeed; never guessed, only named by an operator. */
export class TokenspeedEngine implements EngineAdapter {
  readonly name = 'tokenspeed';
  readonly recognition = { ownedBy: [], order: 1020 } as const;

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverNative(ask);
  }
}
