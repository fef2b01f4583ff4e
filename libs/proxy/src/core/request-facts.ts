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

/** Fields without which a request cannot be routed; all else is the engine's to judge. */
const REQUIRED: Readonly<Record<string, readonly (readonly [string, Check])[]>> = {
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

/** Routes that serve any model when the body names none. */
const MODEL_OPTIONAL: ReadonlySet<string> = new Set(['/generate', '/v1/rerank']);

/**
 * Reads a request body: the one JSON.parse of a request.
 * @param path route template.
 */
export function readRequestFacts(path: string, body: Buffer): FactsResult {
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
  return check(path, json as JsonObject);
}

function check(path: string, json: JsonObject): FactsResult {
  // The contract: /v1/rerank serves any model, whatever the body says.
  const named = path === '/v1/rerank' ? undefined : json['model'];
  if (isMissing(named)) {
    if (!MODEL_OPTIONAL.has(path)) return refuse('Invalid JSON data: missing field `model`');
  } else if (typeof named !== 'string') {
    return refuse('Invalid JSON data: `model` must be a string');
  }
  for (const [field, rule] of REQUIRED[path] ?? []) {
    const value = json[field];
    if (isMissing(value)) return refuse(`Invalid JSON data: missing field \`${field}\``);
    const problem = rule(value);
    if (problem !== undefined) return refuse(`Invalid JSON data: \`${field}\` ${problem}`);
  }
  const namesModel = typeof named === 'string';
  return {
    ok: true,
    facts: {
      json,
      model: namesModel ? named : UNKNOWN_MODEL,
      namesModel,
      wantsStream: json['stream'] === true,
    },
  };
}

const refuse = (message: string): FactsResult => ({ ok: false, message });

/** Where the syntax breaks, without the quotation of the body that V8 adds. */
function syntaxMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const at = /position \d+/.exec(message);
  return at === null ? 'the body is not complete JSON' : `unexpected token at ${at[0]}`;
}
