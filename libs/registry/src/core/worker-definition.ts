import { UNKNOWN_MODEL, type ModelCardWire, type WorkerSpecWire } from '@smg/protocol';
import { type RegistryOptions } from './registry-options';
import { type WorkerAddress } from './worker-url';
import { effectiveSettings, type WorkerSettings } from './worker-settings';

/** A specification without its key: the only form that is kept, shown or logged. */
export type PublicSpec = Omit<WorkerSpecWire, 'api_key'>;

interface DefinitionParts {
  readonly address: WorkerAddress;
  readonly spec: PublicSpec;
  readonly modelId: string;
  readonly models: readonly ModelCardWire[];
  readonly labels: ReadonlyMap<string, string>;
  readonly settings: WorkerSettings;
}

/**
 * What a worker is, as opposed to how it fares. Replaced as a whole by PUT and PATCH. The key is a
 * private member: no serialiser and no inspector meets it.
 */
export class WorkerDefinition implements DefinitionParts {
  readonly address: WorkerAddress;
  readonly spec: PublicSpec;
  readonly modelId: string;
  /** Empty for a wildcard worker. */
  readonly models: readonly ModelCardWire[];
  readonly labels: ReadonlyMap<string, string>;
  readonly settings: WorkerSettings;
  readonly #apiKey: string | undefined;

  constructor(parts: DefinitionParts, apiKey: string | undefined) {
    this.address = parts.address;
    this.spec = parts.spec;
    this.modelId = parts.modelId;
    this.models = parts.models;
    this.labels = parts.labels;
    this.settings = parts.settings;
    this.#apiKey = apiKey;
  }

  get apiKey(): string | undefined {
    return this.#apiKey;
  }
}

/** Builds the definition of a specification whose metadata is already in place. */
export function defineWorker(
  spec: WorkerSpecWire,
  address: WorkerAddress,
  options: RegistryOptions,
): WorkerDefinition {
  const { api_key: apiKey, models: cards, dp_base_url: _given, dp_rank: _rank, ...shown } = spec;
  const named = (cards ?? []).filter((card) => card.id !== UNKNOWN_MODEL);
  const models = withAliases(named, options.modelAliases);
  const { rank } = address;
  const parts: DefinitionParts = {
    address,
    spec: {
      ...shown,
      url: address.url,
      ...(models.length === 0 ? {} : { models }),
      ...(rank === undefined ? {} : { dp_rank: rank, dp_base_url: address.baseUrl }),
    },
    modelId: models[0]?.id ?? UNKNOWN_MODEL,
    models,
    labels: new Map(Object.entries(spec.labels ?? {})),
    settings: effectiveSettings(spec, options),
  };
  return new WorkerDefinition(parts, apiKey === '' ? undefined : apiKey);
}

/** Appends the router's own aliases to the cards they point at. */
function withAliases(
  cards: readonly ModelCardWire[],
  aliases: RegistryOptions['modelAliases'],
): readonly ModelCardWire[] {
  return cards.map((card) => {
    const own = card.aliases ?? [];
    const added = Object.entries(aliases)
      .filter(([alias, canonical]) => canonical === card.id && !own.includes(alias))
      .map(([alias]) => alias);
    return added.length === 0 ? card : { ...card, aliases: [...own, ...added] };
  });
}
