import { intOf, type RouteContext, type RouteTable } from '../route-table';
import { countTokens, hashText } from '../tokens';
import { CREATED, modelOf, refuse } from './openai-generation';
import { sleep } from '../sleep';

/** Dimensions of an embedding. */
const DIMENSIONS = 8;

/** Inputs of an embedding or a classification: text, texts, ids, or lists of ids. */
function inputsOf(input: unknown): readonly string[] | undefined {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  const list = input as unknown[];
  if (list.every((one) => typeof one === 'number')) return [list.join(' ')];
  return list.map((one) =>
    typeof one === 'string' ? one : Array.isArray(one) ? one.join(' ') : JSON.stringify(one),
  );
}

/** A number in [0, 1) that depends on the text. */
const unit = (text: string, seed: number): number => hashText(text, seed) / 2 ** 32;

/** OpenAI's clients ask for little-endian 32-bit floats in base64 unless told otherwise. */
function encoded(values: readonly number[], format: unknown): unknown {
  if (format !== 'base64') return values;
  const bytes = Buffer.alloc(values.length * 4);
  for (const [at, value] of values.entries()) bytes.writeFloatLE(value, at * 4);
  return bytes.toString('base64');
}

async function embeddings(context: RouteContext): Promise<void> {
  const body = context.request.jsonObject();
  const inputs = inputsOf(body?.['input']);
  if (body === undefined || inputs === undefined) return refuse(context, 'input is required');
  await sleep(context.options.latencyMs, context.answer.signal);
  const dimensions = intOf(body['dimensions']) ?? DIMENSIONS;
  const tokens = inputs.reduce((sum, text) => sum + countTokens(text), 0);
  return context.answer.json(200, {
    object: 'list',
    data: inputs.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: encoded(
        Array.from({ length: dimensions }, (_, at) => unit(text, at + 1) * 2 - 1),
        body['encoding_format'],
      ),
    })),
    model: modelOf(body, context),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}

async function classify(context: RouteContext): Promise<void> {
  const body = context.request.jsonObject();
  const inputs = inputsOf(body?.['input']);
  if (body === undefined || inputs === undefined) return refuse(context, 'input is required');
  await sleep(context.options.latencyMs, context.answer.signal);
  const tokens = inputs.reduce((sum, text) => sum + countTokens(text), 0);
  return context.answer.json(200, {
    id: `classify-${context.port}-${context.nextId()}`,
    object: 'list',
    created: CREATED,
    model: modelOf(body, context),
    data: inputs.map((text, index) => {
      const positive = unit(text, 1);
      return {
        index,
        label: positive >= 0.5 ? 'LABEL_1' : 'LABEL_0',
        probs: [1 - positive, positive],
        num_classes: 2,
      };
    }),
    usage: { prompt_tokens: tokens, total_tokens: tokens, completion_tokens: 0 },
  });
}

/** Best document first. SGLang answers a bare list, vLLM an object with `results`. */
async function rerank(context: RouteContext): Promise<void> {
  const body = context.request.jsonObject();
  const documents = body?.['documents'];
  const query = body?.['query'];
  if (body === undefined || typeof query !== 'string' || query.trim() === '') {
    return refuse(context, 'query must be text that is not blank');
  }
  if (!Array.isArray(documents) || documents.length === 0) {
    return refuse(context, 'documents must be a list with at least one text');
  }
  await sleep(context.options.latencyMs, context.answer.signal);
  const ranked = (documents as unknown[])
    .map((document, index) => ({
      score: unit(`${query} ${String(document)}`, context.options.seed),
      document: String(document),
      index,
    }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, intOf(body['top_n']) ?? documents.length);
  const id = `rerank-${context.port}-${context.nextId()}`;
  if (context.options.kind === 'vllm') {
    return context.answer.json(200, {
      id,
      model: modelOf(body, context),
      usage: { total_tokens: countTokens(query) },
      results: ranked.map(({ score, document, index }) => ({
        index,
        document: { text: document },
        relevance_score: score,
      })),
    });
  }
  return context.answer.json(
    200,
    ranked.map((entry) => ({
      score: entry.score,
      ...(body['return_documents'] === false ? {} : { document: entry.document }),
      index: entry.index,
      meta_info: { id },
    })),
  );
}

export function addPooling(table: RouteTable): void {
  table.inference('/v1/embeddings', embeddings);
  table.inference('/v1/classify', classify);
  table.inference('/classify', classify);
  table.inference('/v1/rerank', rerank);
  table.inference('/rerank', rerank);
}
