import { intOf, objectOf, stringOf, type RouteContext, type RouteTable } from '../route-table';
import { countTokens, type Token } from '../tokens';
import { modelOf, refuse, textOfMessages } from './openai-generation';

const MAX_MODEL_LEN = 32_768;

/** Log probability of a token; made up, and the same in every run. */
const logprobOf = (id: number): number => -(id % 100) / 100;

/** Log probabilities in OpenAI's shape; vLLM names tokens by their ids where it is asked for ids. */
export function logprobsOf(tokens: readonly Token[], namesIds: boolean): object {
  return {
    content: tokens.map(({ id, text }) => ({
      token: namesIds ? `token_id:${id}` : text,
      logprob: logprobOf(id),
      bytes: null,
      top_logprobs: [],
    })),
  };
}

/** Ids of a prompt, one for each word; good enough to be counted. */
export const idsOf = (text: string): readonly number[] =>
  Array.from({ length: countTokens(text) }, (_, at) => at + 1);

function textIn(body: Readonly<Record<string, unknown>>): string | undefined {
  const messages = body['messages'];
  return Array.isArray(messages) ? textOfMessages(messages) : stringOf(body['prompt']);
}

async function tokenize(context: RouteContext): Promise<void> {
  const text = textIn(objectOf(context.request.jsonObject()));
  if (text === undefined) return refuse(context, 'prompt is required');
  const tokens = idsOf(text);
  return context.answer.json(200, { count: tokens.length, max_model_len: MAX_MODEL_LEN, tokens });
}

async function detokenize(context: RouteContext): Promise<void> {
  const tokens = context.request.jsonObject()?.['tokens'];
  if (!Array.isArray(tokens)) return refuse(context, 'tokens is required');
  return context.answer.json(200, { prompt: tokens.map((id) => `<${String(id)}>`).join('') });
}

/** What a chat would be asked of the token-in, token-out route. */
async function render(context: RouteContext): Promise<void> {
  const body = objectOf(context.request.jsonObject());
  const text = textIn(body);
  if (text === undefined) return refuse(context, 'messages must be a list');
  return context.answer.json(200, {
    request_id: `render-${context.port}-${context.nextId()}`,
    model: modelOf(body, context),
    token_ids: idsOf(text),
    sampling_params: { max_tokens: intOf(body['max_tokens']) ?? null },
  });
}

async function loadAdapter(context: RouteContext): Promise<void> {
  const name = stringOf(context.request.jsonObject()?.['lora_name']);
  if (name === undefined) return refuse(context, 'lora_name is required');
  const did = context.request.route.includes('unload') ? 'removed' : 'added';
  return context.answer.send(200, 'text/plain', `Success: LoRA adapter '${name}' ${did}.`);
}

export function addVllmTokens(table: RouteTable): void {
  table
    .add('POST', '/tokenize', tokenize)
    .add('POST', '/detokenize', detokenize)
    .add('POST', '/v1/chat/completions/render', render)
    .add('POST', '/v1/load_lora_adapter', loadAdapter)
    .add('POST', '/v1/unload_lora_adapter', loadAdapter);
}
