import { engineError } from '../engine-error';
import { type Generation, type GenerationInput } from '../generation';
import {
  intOf,
  objectOf,
  startGeneration,
  stringOf,
  type RouteContext,
  type RouteTable,
} from '../route-table';
import { SseWriter } from '../sse';
import { countTokens } from '../tokens';
import { logprobsOf } from './token.routes';

type Body = Readonly<Record<string, unknown>>;

/** One prompt of a `/generate` body. */
interface Prompt {
  readonly text: string;
  readonly tokens: number;
}

const isIds = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((id) => typeof id === 'number');

const fromText = (text: string): Prompt => ({ text, tokens: countTokens(text) });
const fromIds = (ids: readonly number[]): Prompt => ({ text: ids.join(' '), tokens: ids.length });

/** @returns undefined when the body has no usable prompt; `isBatch` decides the answer's shape. */
function readPrompts(body: Body): { prompts: readonly Prompt[]; isBatch: boolean } | undefined {
  const text = body['text'];
  if (typeof text === 'string') return { prompts: [fromText(text)], isBatch: false };
  if (Array.isArray(text) && text.every((one) => typeof one === 'string')) {
    return { prompts: text.map(fromText), isBatch: true };
  }
  const ids = body['input_ids'];
  if (isIds(ids)) return { prompts: [fromIds(ids)], isBatch: false };
  if (Array.isArray(ids) && ids.every(isIds)) return { prompts: ids.map(fromIds), isBatch: true };
  return undefined;
}

function metaInfo(generation: Generation, body: Body, context: RouteContext): unknown {
  if ('mock_meta_info' in body) return body['mock_meta_info'];
  const finish = generation.finish;
  const meta: Record<string, unknown> = {
    id: generation.rid,
    finish_reason:
      finish === undefined
        ? null
        : finish === 'length'
          ? { type: 'length', length: generation.tokens.length }
          : finish === 'abort'
            ? { type: 'abort', message: 'Abort in waiting queue or while running' }
            : { type: 'stop', matched: 2 },
    prompt_tokens: generation.promptTokens,
    completion_tokens: generation.tokens.length,
    cached_tokens: 0,
    weight_version: generation.spans.at(-1)?.version ?? context.state.weightVersion,
    weight_versions: generation.spans,
  };
  if (generation.dpRank !== undefined) meta['dp_rank'] = generation.dpRank;
  // Aborted before the first token: real engines then send no logprobs at all.
  if (body['return_logprob'] === true && generation.tokens.length > 0) {
    meta['output_token_logprobs'] = generation.tokens.map(({ id }) => [
      -(id % 100) / 100,
      id,
      null,
    ]);
  }
  return meta;
}

const item = (generation: Generation, body: Body, context: RouteContext): object => ({
  text: generation.text,
  output_ids: generation.tokens.map(({ id }) => id),
  meta_info: metaInfo(generation, body, context),
});

/** `n` answers per prompt, in prompt order. */
function inputsOf(
  body: Body,
  prompts: readonly Prompt[],
  context: RouteContext,
): GenerationInput[] {
  const sampling = objectOf(body['sampling_params']);
  const perPrompt = intOf(sampling['n']) ?? 1;
  const rids = body['rid'];
  return prompts.flatMap((prompt, at) =>
    Array.from({ length: perPrompt }, () => ({
      rid:
        stringOf(Array.isArray(rids) ? (rids as unknown[])[at] : rids) ??
        `rid-${context.port}-${context.nextId()}`,
      prompt: prompt.text,
      promptTokens: prompt.tokens,
      maxTokens: intOf(sampling['max_new_tokens']),
      ignoreEos: sampling['ignore_eos'] === true,
      dpRank: intOf(body['routed_dp_rank']) ?? intOf(body['data_parallel_rank']),
    })),
  );
}

async function generate(context: RouteContext): Promise<void> {
  const { request, answer, options, port } = context;
  const headers = ['x-worker-id', `worker-${port}`];
  const refuse = (message: string): Promise<void> =>
    answer.json(400, { error: { message } }, headers);
  const body = request.jsonObject();
  if (body === undefined) return refuse('the body is not a JSON object');
  const found = readPrompts(body);
  if (found === undefined) return refuse('either text or input_ids must be given');
  const inputs = inputsOf(body, found.prompts, context);
  const rank = inputs[0]?.dpRank;
  if (rank !== undefined && (rank < 0 || rank >= options.dpSize)) {
    return refuse(`data-parallel rank ${rank} is not in [0, ${options.dpSize})`);
  }
  const isArray = found.isBatch || inputs.length > 1;
  const generations = inputs.map((input) => startGeneration(context, input));

  if (body['stream'] === true) {
    const sse = new SseWriter(answer);
    await sse.open(headers);
    await Promise.all(
      generations.map(async (generation, index) => {
        const event = (): Promise<void> => {
          const value = item(generation, body, context);
          return sse.data(isArray ? { ...value, index } : value);
        };
        await generation.run(answer.signal, event);
        await event();
      }),
    );
    return sse.done();
  }
  await Promise.all(generations.map((generation) => generation.run(answer.signal)));
  const items = generations.map((generation) => item(generation, body, context));
  return answer.json(200, isArray ? items : items[0], headers);
}

/** vLLM's token-in, token-out route. */
async function inferenceGenerate(context: RouteContext): Promise<void> {
  const { request, answer, options } = context;
  const body = request.jsonObject();
  const ids = body?.['token_ids'];
  if (body === undefined || !isIds(ids)) {
    return answer.json(400, engineError(options.kind, 400, 'token_ids must be a list of integers'));
  }
  const sampling = objectOf(body['sampling_params']);
  const rid = stringOf(body['request_id']) ?? `gen-${context.nextId()}`;
  const generation = startGeneration(context, {
    rid,
    prompt: ids.join(' '),
    promptTokens: ids.length,
    maxTokens: intOf(sampling['max_tokens']),
  });
  await generation.run(answer.signal);
  return answer.json(200, {
    request_id: rid,
    choices: [
      {
        index: 0,
        token_ids: generation.tokens.map(({ id }) => id),
        finish_reason: generation.finish,
        // Zero is a wish as well: the sampled token alone.
        logprobs:
          intOf(sampling['logprobs']) === undefined ? null : logprobsOf(generation.tokens, true),
      },
    ],
    prompt_logprobs: null,
    kv_transfer_params: null,
  });
}

export function addSglangGenerate(table: RouteTable): void {
  table.inference('/generate', generate);
}

export function addVllmGenerate(table: RouteTable): void {
  table.inference('/inference/v1/generate', inferenceGenerate);
  // The name SkyRL's own server has for it.
  table.inference('/skyrl/v1/generate', inferenceGenerate);
}
