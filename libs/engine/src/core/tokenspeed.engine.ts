import {
  type AskEngine,
  type ControlCall,
  type ControlEffect,
  type EngineAdapter,
  type EngineFacts,
} from '@smg/plugin-api';
import { nativeEffects } from './native-control';
import { discoverNative } from './native-discovery';

/** TokenSpeed; never guessed, only named by an operator. */
export class TokenspeedEngine implements EngineAdapter {
  readonly name = 'tokenspeed';
  readonly recognition = { ownedBy: [], order: 1020 } as const;

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverNative(ask);
  }

  effectsOf(call: ControlCall): readonly ControlEffect[] {
    return nativeEffects(call);
  }
}
