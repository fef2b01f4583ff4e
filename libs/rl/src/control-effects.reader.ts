import { Inject, Injectable } from '@nestjs/common';
import {
  ENGINE_CATALOG,
  type ControlCall,
  type ControlEffect,
  type EngineCatalog,
} from '@smg/plugin-api';

const NONE: readonly ControlEffect[] = Object.freeze([]);

/**
 * What a control call does to an engine. The engine's own adapter is asked first, then the others: an
 * engine that was not recognised, or speaks another's control protocol, is watched all the same.
 */
@Injectable()
export class ControlEffectsReader {
  constructor(@Inject(ENGINE_CATALOG) private readonly catalog: EngineCatalog) {}

  /** @param engine adapter name of the worker. */
  read(engine: string, call: ControlCall): readonly ControlEffect[] {
    const own = this.catalog.byName(engine);
    const effects = own?.effectsOf?.(call) ?? NONE;
    if (effects.length > 0) return effects;
    for (const adapter of this.catalog.all()) {
      if (adapter === own) continue;
      const others = adapter.effectsOf?.(call) ?? NONE;
      if (others.length > 0) return others;
    }
    return NONE;
  }
}
