import { UNKNOWN_MODEL } from '@smg/protocol';

export type JsonObject = Readonly<Record<string, unknown>>;

/** What routing knows of a body. */
export interface RequestFacts {
  readonly json: JsonObject;
  /** Model as sent; `unknown` when the route allows none. */
  readonly model: string;
  readonly namesModel: boolean;
  readonly wantsStream: boolean;
}

export type FactsResult =
  | { readonly ok: true; readonly facts: RequestFacts }
  | { readonly ok: false; readonly message: string };

type Check = (value: unknown) => string | undefined;
type FieldRule = readonly [string, Check];

const isMissing = (value: unknown): boolean => value === undefined || value === null;

const text: Check = (value) => (typeof value === 'string' ? undefined : 'must be a string');
const list: Check = (value) => (Array.isArray(value) ? undefined : 'must be an array');
const messages: Check = (value) => {
  if (!Array.isArray(value)) return 'must be an array';
  return value.length === 0 ? 'must not be empty' : undefined;
};
const textOrList: Check = (value) =>
  typeof value === 'string' || Array.isArray(value) ? undefined : 'must be a string or an array';
const anything: Check = () => undefined;
const count: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1
    ? undefined
    : 'must be an integer of 1 or more';
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');

/** Fields without which a request cannot be routed; all else is the engine's to judge. */
const REQUIRED: Readonly<Record<string, readonly FieldRule[]>> = {
  '/generate': [],
  '/v1/chat/completions': [['messages', messages]],
  '/v1/completions': [['prompt', textOrList]],
  '/v1/embeddings': [['input', anything]],
  '/v1/classify': [['input', anything]],
  '/rerank': [
    ['query', text],
    ['documents', list],
  ],
  '/v1/rerank': [
    ['query', text],
    ['documents', list],
  ],
  '/v1/messages': [['messages', messages]],
  '/v1/responses': [['input', textOrList]],
};

/** Fields the gateway goes by when it builds the answer. */
const OPTIONAL: Readonly<Record<string, readonly FieldRule[]>> = {
  '/rerank': [
    ['top_k', count],
    ['return_documents', flag],
  ],
};

/** Routes whose answers are never streams, whatever the body says. */
const NEVER_STREAMS: ReadonlySet<string> = new Set([
  '/rerank',
  '/v1/rerank',
  '/v1/chat/completions/render',
  '/tokenize',
  '/detokenize',
]);

/** Routes that serve any model when the body names none. */
const MODEL_OPTIONAL: ReadonlySet<string> = new Set([
  '/generate',
  '/inference/v1/generate',
  '/skyrl/v1/generate',
  '/v1/chat/completions/render',
  '/tokenize',
  '/detokenize',
  '/v1/rerank',
]);

/**
 * Reads a request body: the one JSON.parse of a request.
 * @param path route template.
 * @param modelParent field whose `model` names the model; the body's own when left out.
 */
export function readRequestFacts(path: string, body: Buffer, modelParent?: string): FactsResult {
  if (body.length === 0) return refuse('Invalid JSON data: the body is empty');
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch (error) {
    return refuse(`JSON syntax error: ${syntaxMessage(error)}`);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return refuse('Invalid JSON data: the body must be an object');
  }
  return check(path, json as JsonObject, modelParent);
}

function check(path: string, json: JsonObject, modelParent: string | undefined): FactsResult {
  // The contract: /v1/rerank serves any model, whatever the body says.
  const named = path === '/v1/rerank' ? undefined : modelIn(json, modelParent);
  const field = modelParent === undefined ? 'model' : `${modelParent}.model`;
  if (isMissing(named)) {
    if (!MODEL_OPTIONAL.has(path)) return refuse(`Invalid JSON data: missing field \`${field}\``);
  } else if (typeof named !== 'string') {
    return refuse(`Invalid JSON data: \`${field}\` must be a string`);
  }
  const problem = problemIn(json, REQUIRED[path], true) ?? problemIn(json, OPTIONAL[path], false);
  if (problem !== undefined) return refuse(`Invalid JSON data: ${problem}`);
  const namesModel = typeof named === 'string';
  return {
    ok: true,
    facts: {
      json,
      model: namesModel ? named : UNKNOWN_MODEL,
      namesModel,
      wantsStream: json['stream'] === true && !NEVER_STREAMS.has(path),
    },
  };
}

function problemIn(
  json: JsonObject,
  rules: readonly FieldRule[] | undefined,
  areRequired: boolean,
): string | undefined {
  for (const [field, rule] of rules ?? []) {
    const value = json[field];
    if (isMissing(value)) {
      if (areRequired) return `missing field \`${field}\``;
      continue;
    }
    const problem = rule(value);
    if (problem !== undefined) return `\`${field}\` ${problem}`;
  }
  return undefined;
}

function modelIn(json: JsonObject, parent: string | undefined): unknown {
  if (parent === undefined) return json['model'];
  const inside = json[parent];
  if (typeof inside !== 'object' || inside === null || Array.isArray(inside)) return undefined;
  return (inside as JsonObject)['model'];
}

const refuse = (message: string): FactsResult => ({ ok: false, message });

/** Where the syntax breaks, without the quotation of the body that V8 adds. */
function syntaxMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const at = /position \d+/.exec(message);
  return at === null ? 'the body is not complete JSON' : `unexpected token at ${at[0]}`;
}
