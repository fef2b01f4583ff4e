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

const PREFIX = 'rl.';
const FIELDS = [
  'pause_modes',
  'update_from',
  'abort',
  'flush_cache',
  'sleep_wake',
  'reports_weight_version',
] as const satisfies readonly (keyof RlCapabilities)[];

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
  return {
    source: FIELDS.some((field) => labels.has(PREFIX + field)) ? 'label' : 'static',
    pause_modes: list(labels.get(`${PREFIX}pause_modes`), known.pauseModes),
    update_from: list(labels.get(`${PREFIX}update_from`), known.updateFrom),
    abort: flag(labels.get(`${PREFIX}abort`), known.abort),
    flush_cache: flag(labels.get(`${PREFIX}flush_cache`), known.flushCache),
    sleep_wake: flag(labels.get(`${PREFIX}sleep_wake`), known.sleepWake),
    reports_weight_version: flag(
      labels.get(`${PREFIX}reports_weight_version`),
      known.reportsWeightVersion,
    ),
  };
}

/** A comma list, trimmed; empty pieces say nothing. */
function list(label: string | undefined, otherwise: readonly string[]): readonly string[] {
  if (label === undefined) return otherwise;
  return label
    .split(',')
    .map(trimWhitespace)
    .filter((piece) => piece !== '');
}

/** Only `true`, in any case, is true: `yes` and `1` are not. */
function flag(label: string | undefined, otherwise: boolean): boolean {
  return label === undefined ? otherwise : trimWhitespace(label).toLowerCase() === 'true';
}
