import { GatewayError } from '@smg/protocol';
import { itemSpans, topLevelSpans } from '../../core/json-splice';
import { type JsonObject } from '../../core/request-facts';

/** What an answer is built by. */
export interface RerankRequest {
  /** Canonical. */
  readonly model: string;
  /** Results kept; undefined keeps all. */
  readonly topK: number | undefined;
  readonly returnsDocuments: boolean;
  readonly rid: unknown;
}

/** What a rerank body asks of the answer. @param path `/v1/rerank` knows no options. */
export function rerankRequest(path: string, json: JsonObject, model: string): RerankRequest {
  const options = path === '/rerank' ? json : {};
  const topK = options['top_k'];
  return {
    model,
    topK: typeof topK === 'number' ? topK : undefined,
    returnsDocuments: options['return_documents'] !== false,
    rid: options['rid'],
  };
}

/**
 * One shape for the rankings of all engines: SGLang answers with a bare list, vLLM with an object around
 * `results` that have other names. Order and digits are the engine's.
 * @param now Unix time in seconds.
 * @throws GatewayError `rerank_response_build_failed`
 */
export function buildRerankAnswer(body: Buffer, request: RerankRequest, now: number): Buffer {
  const parsed = parse(body);
  const isBare = Array.isArray(parsed);
  const list = isBare ? parsed : memberOf(parsed, 'results');
  const at = isBare ? 0 : topLevelSpans(body, 'results').at(-1)?.from;
  if (!Array.isArray(list) || at === undefined) throw failure('there is no list of results');
  const results: string[] = [];
  const most = Math.min(list.length, request.topK ?? Infinity);
  const spans = itemSpans(body, at);
  for (let i = 0; i < most; i += 1) {
    const { from = 0, to = 0 } = spans[i] ?? {};
    results.push(resultOf(body.subarray(from, to), list[i] as unknown, request.returnsDocuments));
  }
  const model = JSON.stringify(request.model);
  const id = JSON.stringify(request.rid ?? null);
  return Buffer.from(
    `{"results":[${results.join(',')}],"model":${model},"usage":null,"object":"rerank","id":${id},"created":${now}}`,
  );
}

function resultOf(raw: Buffer, parsed: unknown, returnsDocuments: boolean): string {
  const isNamedOtherwise = memberOf(parsed, 'score') === undefined;
  const name = isNamedOtherwise ? 'relevance_score' : 'score';
  if (typeof memberOf(parsed, name) !== 'number') throw failure('a result has no score');
  if (!Number.isInteger(memberOf(parsed, 'index'))) throw failure('a result has no index');
  let text = `{"score":${lexeme(raw, name)}`;
  const document = memberOf(parsed, 'document');
  if (returnsDocuments && typeof document === 'string') {
    text += `,"document":${lexeme(raw, 'document')}`;
  } else if (returnsDocuments && typeof memberOf(document, 'text') === 'string') {
    text += `,"document":${lexeme(Buffer.from(lexeme(raw, 'document')), 'text')}`;
  }
  text += `,"index":${lexeme(raw, 'index')}`;
  const meta = memberOf(parsed, 'meta_info');
  if (meta !== undefined && meta !== null) text += `,"meta_info":${lexeme(raw, 'meta_info')}`;
  return `${text}}`;
}

/** A member as it was written; the last of that name, as JSON.parse has it. */
function lexeme(raw: Buffer, name: string): string {
  const span = topLevelSpans(raw, name).at(-1);
  return span === undefined ? 'null' : raw.toString('utf8', span.from, span.to);
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return (value as JsonObject)[name];
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw failure('it is not JSON', cause);
  }
}

function failure(why: string, cause?: unknown): GatewayError {
  const message = `the worker's ranking cannot be read: ${why}`;
  return new GatewayError('rerank_response_build_failed', message, { cause });
}
