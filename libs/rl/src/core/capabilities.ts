import { type EngineCapabilities } from '@smg/plugin-api';
import { trimWhitespace } from './whitespace';

/** `capabilities` of a discovery row. Informational: nothing checks it. */
export interface RlCapabilities {
  readonly source: 'static' | 'label';
  readonly pause_modes: readonly string[];
  readonly update_from: readonly string[];
  readonly abort: boolean;
  readonly flush_cache: boolean;
  readonly sleep_wake: boolean;
  readonly reports_weight_version: boolean;
}

const NOTHING: EngineCapabilities = {
  pauseModes: [],
  updateFrom: [],
  abort: false,
  flushCache: false,
  sleepWake: false,
  reportsWeightVersion: false,
};

/**
 * What an engine offers a trainer: what its adapter says, overridden field by field by the labels
 * `rl.<field>`. Source: SMG RL contract 13.
 * @param adapter the adapter's row; undefined for an engine of which nothing is known.
 */
export function capabilitiesOf(
  adapter: EngineCapabilities | undefined,
  labels: ReadonlyMap<string, string>,
): RlCapabilities {
  const known = adapter ?? NOTHING;
  let overridden = false;
  const label = (field: string): string | undefined => {
    const value = labels.get(`rl.${field}`);
    if (value !== undefined) overridden = true;
    return value;
  };
  const list = (field: string, otherwise: readonly string[]): readonly string[] => {
    const value = label(field);
    if (value === undefined) return otherwise;
    return value
      .split(',')
      .map(trimWhitespace)
      .filter((piece) => piece !== '');
  };
  const flag = (field: string, otherwise: boolean): boolean => {
    const value = label(field);
    return value === undefined ? otherwise : trimWhitespace(value).toLowerCase() === 'true';
  };
  const fields = {
    pause_modes: list('pause_modes', known.pauseModes),
    update_from: list('update_from', known.updateFrom),
    abort: flag('abort', known.abort),
    flush_cache: flag('flush_cache', known.flushCache),
    sleep_wake: flag('sleep_wake', known.sleepWake),
    reports_weight_version: flag('reports_weight_version', known.reportsWeightVersion),
  };
  return { source: overridden ? 'label' : 'static', ...fields };
}
