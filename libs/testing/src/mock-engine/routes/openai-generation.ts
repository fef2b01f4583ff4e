import { engineError } from '../engine-error';
import { type Generation } from '../generation';
import { intOf, objectOf, startGeneration, stringOf, type RouteContext } from '../route-table';
import { countTokens } from '../tokens';

export type Body = Readonly<Record<string, unknown>>;

/** Answers 400 in the engine's own shape. */
export function refuse(context: RouteContext, message: string): Promise<void> {
  return context.answer.json(400, engineError(context.options.kind, 400, message));
}

/** Creation time of every answer: fixed, so that bodies can be compared. Unix seconds. */
export const CREATED = 1_700_000_000;

/** Texts of a message list, roles left out. */
export function textOfMessages(messages: readonly unknown[]): string {
  return messages
    .map((message) => {
      const content = (message as { content?: unknown } | null)?.content;
      if (typeof content === 'string') return content;
      if (!Array.isArray(content)) return '';
      return content
        .map((part) => stringOf((part as { text?: unknown } | null)?.text) ?? '')
        .join(' ');
    })
    .join(' ');
}

export function modelOf(body: Body, context: RouteContext): string {
  return stringOf(body['model']) ?? context.options.servedModelName;
}

/** Starts the generation of one OpenAI-style choice. */
export function startChoice(
  context: RouteContext,
  body: Body,
  prompt: string,
  idPrefix: string,
): Generation {
  return startGeneration(context, {
    rid: stringOf(body['rid']) ?? `${idPrefix}${context.port}-${context.nextId()}`,
    prompt,
    promptTokens: countTokens(prompt),
    maxTokens:
      intOf(body['max_completion_tokens']) ??
      intOf(body['max_output_tokens']) ??
      intOf(body['max_tokens']),
    ignoreEos: body['ignore_eos'] === true,
  });
}

export function usageOf(generations: readonly Generation[]): object {
  const prompt = generations[0]?.promptTokens ?? 0;
  const completion = generations.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

/** SGLang tells the weight version of OpenAI answers beside `usage`; vLLM does not. */
export function metadataOf(context: RouteContext, generation: Generation | undefined): object {
  if (context.options.kind !== 'sglang' || generation === undefined) return {};
  return {
    metadata: {
      weight_version: generation.spans.at(-1)?.version ?? context.state.weightVersion,
      weight_versions: generation.spans,
    },
  };
}

/** Where vLLM leaves the KV cache of a request that asks for it; nothing for any other. */
export function kvTransferOf(context: RouteContext, body: Body, rid: string): object {
  const asked = objectOf(body['kv_transfer_params']);
  const isNixl = asked['do_remote_decode'] === true && asked['transfer_id'] === undefined;
  if (context.options.kind !== 'vllm' || !isNixl) return {};
  return {
    kv_transfer_params: {
      do_remote_prefill: true,
      do_remote_decode: false,
      remote_engine_id: `engine-${context.port}`,
      remote_request_id: rid,
      remote_block_ids: [[1, 2]],
      remote_host: context.options.host,
      remote_port: context.port,
    },
  };
}
