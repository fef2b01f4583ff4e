import { type AskEngine, type EngineAdapter, type EngineFacts } from '@smg/plugin-api';
import { discoverNative } from './native-discovery';

/** Any engine that speaks the OpenAI routes; chosen when a model list names no known owner. */
export class GenericEngine implements EngineAdapter {
  readonly name = 'generic';
  readonly recognition = { ownedBy: [], order: 1000, fallback: 'answers' } as const;

  discover(ask: AskEngine): Promise<EngineFacts> {
    return discoverNative(ask);
  }
}
