import { type Endpoint } from '@smg/protocol';
import { type JsonObject } from './request-facts';

/** Bytes of text a token stands for, roughly, in the vocabularies of today. */
const BYTES_PER_TOKEN = 4;

/** Beyond any limit; keeps what a client writes, 1e999 included, out of the arithmetic. */
const MOST = 2 ** 32;

/** Fields that limit what is generated, the one engines prefer first. */
const LIMITS: Readonly<Partial<Record<Endpoint, readonly string[]>>> = {
  chat: ['max_completion_tokens', 'max_tokens'],
  completions: ['max_tokens'],
  messages: ['max_tokens'],
  responses: ['max_output_tokens'],
};

/** The same in `sampling_params`: SGLang's name, then vLLM's. */
const GENERATE_LIMITS: readonly string[] = ['max_new_tokens', 'max_tokens'];

/** What a request may use, before it has used anything. */
export interface TokenEstimate {
  readonly tokens: number;
  /** The part of it that is the prompt. */
  readonly prompt: number;
  /** Answers asked for: prompts times samples. */
  readonly answers: number;
}

/**
 * Guesses the tokens of a request: its prompt, and as much as it allows to generate, once for each
 * answer. A request that sets no limit counts with its prompt alone.
 * @param textBytes UTF-8 length of the text that routing looks at.
 */
export function estimateTokens(
  endpoint: Endpoint,
  json: JsonObject,
  textBytes: number,
): TokenEstimate {
  const isGenerate = endpoint === 'generate';
  const prompts = isGenerate ? (json['text'] ?? idsOf(json)) : json['prompt'];
  const samples = isGenerate ? countOf(sampling(json)['n']) : countOf(json['n']);
  const answers = batchSize(prompts) * samples;
  const ids = countIds(isGenerate && isMissing(json['text']) ? idsOf(json) : json['prompt']);
  const prompt = ids > 0 ? ids : Math.ceil(textBytes / BYTES_PER_TOKEN);
  const most = isGenerate ? generateLimit(json) : limitOf(json, LIMITS[endpoint] ?? []);
  return { tokens: prompt + most * answers, prompt, answers };
}

/** SGLang's name, or vLLM's. */
const idsOf = (json: JsonObject): unknown => json['input_ids'] ?? json['token_ids'];

const isMissing = (value: unknown): boolean => value === undefined || value === null;

/** `sampling_params`; of a list, one for each prompt, the first stands for the kind. */
function sampling(json: JsonObject): JsonObject {
  const given: unknown = json['sampling_params'];
  const one: unknown = Array.isArray(given) ? given[0] : given;
  return typeof one === 'object' && one !== null ? (one as JsonObject) : {};
}

/** The largest limit of any prompt. */
function generateLimit(json: JsonObject): number {
  const given: unknown = json['sampling_params'];
  if (!Array.isArray(given)) return limitOf(sampling(json), GENERATE_LIMITS);
  let most = 0;
  for (const one of given as unknown[]) {
    if (typeof one !== 'object' || one === null) continue;
    most = Math.max(most, limitOf(one as JsonObject, GENERATE_LIMITS));
  }
  return most;
}

function limitOf(json: JsonObject, names: readonly string[]): number {
  for (const name of names) {
    const value = json[name];
    // What is no number is the engine's to judge.
    if (typeof value === 'number') return value > 0 ? Math.min(Math.floor(value), MOST) : 0;
  }
  return 0;
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 1 ? Math.min(Math.floor(value), MOST) : 1;
}

/** Prompts in a list of texts or of id lists; a list of ids is one prompt. */
function batchSize(prompts: unknown): number {
  if (!Array.isArray(prompts) || typeof prompts[0] === 'number') return 1;
  return Math.max(1, prompts.length);
}

/** Token ids in a prompt that is given as such. */
function countIds(prompt: unknown): number {
  if (!Array.isArray(prompt)) return 0;
  if (typeof prompt[0] === 'number') return prompt.length;
  let ids = 0;
  for (const one of prompt as unknown[]) if (Array.isArray(one)) ids += one.length;
  return ids;
}
