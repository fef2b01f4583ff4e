import { UNKNOWN_MODEL, type ModelCardWire, type WorkerSpecWire } from '@smg/protocol';
import { type EngineFacts } from '@smg/plugin-api';

/** Labels that are specification fields under another roof. */
const FIELD_LABELS = ['kv_connector', 'kv_role', 'kv_engine_id'] as const;
/** Where a model id is looked for when no card names one. Source: SMG contract 3.6. */
const MODEL_ID_LABELS = ['served_model_name', 'model_id', 'model_path'] as const;

/**
 * What an operator said, completed by what the engine says of itself. The operator wins wherever both
 * speak.
 */
export function applyFacts(spec: WorkerSpecWire, facts: EngineFacts | undefined): WorkerSpecWire {
  const labels: Record<string, string> = { ...nonEmpty(facts?.labels ?? {}), ...spec.labels };
  const fields: Partial<Record<(typeof FIELD_LABELS)[number], string>> = {};
  for (const name of FIELD_LABELS) {
    const value = spec[name] ?? labels[name];
    if (value !== undefined) fields[name] = value;
  }
  const kept = Object.entries(labels).filter(([name]) => !isFieldLabel(name));
  const models = modelCards(spec, facts, labels);
  return {
    ...spec,
    ...fields,
    labels: Object.fromEntries(kept),
    ...(models === undefined ? {} : { models }),
  };
}

const isFieldLabel = (name: string): boolean => (FIELD_LABELS as readonly string[]).includes(name);

const nonEmpty = (labels: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''));

function modelCards(
  spec: WorkerSpecWire,
  facts: EngineFacts | undefined,
  labels: Readonly<Record<string, string>>,
): readonly ModelCardWire[] | undefined {
  const learned = learnedMembers(facts);
  const explicit = spec.models ?? [];
  if (explicit.length > 1) return explicit;
  if (explicit[0] !== undefined) return [{ ...learned, ...explicit[0] }];
  const id = MODEL_ID_LABELS.map((name) => labels[name]).find(
    (value) => value !== undefined && value !== '',
  );
  return id === undefined || id === UNKNOWN_MODEL ? undefined : [{ id, ...learned }];
}

function learnedMembers(facts: EngineFacts | undefined): Omit<ModelCardWire, 'id'> {
  return {
    ...(facts?.modelType === undefined ? {} : { model_type: facts.modelType }),
    ...(facts?.architectures === undefined ? {} : { architectures: facts.architectures }),
    ...(facts?.contextLength === undefined ? {} : { context_length: facts.contextLength }),
  };
}
