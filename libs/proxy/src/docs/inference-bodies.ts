import { type ApiBodyOptions } from '@nestjs/swagger';

type Schema = Extract<ApiBodyOptions, { schema: unknown }>['schema'];
type Examples = Readonly<Record<string, { readonly summary: string; readonly value: object }>>;

/** A body as the gateway reads it: it checks what it routes by, the engine answers for the rest. */
export interface InferenceBody {
  readonly schema: Schema;
  readonly examples: Examples;
}

const MODEL = { type: 'string', description: 'Model or alias.', example: 'mock-model' } as const;
const STREAM = {
  type: 'boolean',
  description: "`true`: the engine's event stream is relayed as it arrives.",
} as const;
const MESSAGES = {
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    properties: {
      role: { type: 'string', example: 'user' },
      content: {
        description: 'Text or parts.',
        oneOf: [
          { type: 'string' },
          { type: 'array', items: { type: 'object', additionalProperties: true } },
        ],
      },
    },
    additionalProperties: true,
  },
} as const;
const INPUT = {
  description: 'A text, or a list of texts or tokens.',
  oneOf: [
    { type: 'string' },
    {
      type: 'array',
      items: {
        oneOf: [
          { type: 'string' },
          { type: 'integer' },
          { type: 'array', items: { type: 'integer' } },
          { type: 'object', additionalProperties: true },
        ],
      },
    },
  ],
} as const;
const DOCUMENTS = { type: 'array', items: { type: 'string' } } as const;

/** An object with these members and any other. */
function open(properties: object, required: readonly string[]): Schema {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required: [...required] } : {}),
    additionalProperties: true,
  } as Schema;
}

const one = (summary: string, value: object): Examples => ({ example: { summary, value } });

const HELLO = [{ role: 'user', content: 'Hello!' }];
const MODEL_NAME = 'mock-model';
const PAPERS = { query: 'What is SSE?', documents: ['Events over HTTP.', 'A kind of tea.'] };

const streamed = (summary: string, value: object): Examples => ({
  ...one(summary, value),
  stream: { summary: 'The same as a stream', value: { ...value, stream: true } },
});

export const CHAT_BODY: InferenceBody = {
  schema: open({ model: MODEL, messages: MESSAGES, stream: STREAM }, ['model', 'messages']),
  examples: streamed('One message', { model: MODEL_NAME, messages: HELLO }),
};

export const COMPLETIONS_BODY: InferenceBody = {
  schema: open({ model: MODEL, prompt: INPUT, stream: STREAM }, ['model', 'prompt']),
  examples: streamed('A prompt', { model: MODEL_NAME, prompt: 'Once upon a time' }),
};

export const RESPONSES_BODY: InferenceBody = {
  schema: open({ model: MODEL, input: INPUT, stream: STREAM }, ['model', 'input']),
  examples: one('A text', { model: MODEL_NAME, input: 'Hello!' }),
};

export const MESSAGES_BODY: InferenceBody = {
  schema: open(
    { model: MODEL, messages: MESSAGES, max_tokens: { type: 'integer' }, stream: STREAM },
    ['model', 'messages'],
  ),
  examples: one('One message', { model: MODEL_NAME, max_tokens: 16, messages: HELLO }),
};

export const EMBEDDINGS_BODY: InferenceBody = {
  schema: open({ model: MODEL, input: INPUT }, ['model', 'input']),
  examples: one('A text', { model: MODEL_NAME, input: 'Hello!' }),
};

export const CLASSIFY_BODY: InferenceBody = {
  schema: open({ model: MODEL, input: INPUT }, ['model', 'input']),
  examples: one('A text', { model: MODEL_NAME, input: 'Hello!' }),
};

export const GENERATE_BODY: InferenceBody = {
  schema: open(
    {
      model: { ...MODEL, description: 'Left out: any worker.' },
      text: INPUT,
      sampling_params: { type: 'object', additionalProperties: true },
      stream: STREAM,
    },
    [],
  ),
  examples: streamed('A text', {
    text: 'Once upon a time',
    sampling_params: { max_new_tokens: 8 },
  }),
};

/** Id of a ranking, as the client names it. */
export const RID = {
  oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] as {
    type: string;
    items?: { type: string };
  }[],
};

export const RERANK_BODY: InferenceBody = {
  schema: open(
    {
      model: MODEL,
      query: { type: 'string' },
      documents: DOCUMENTS,
      top_k: { type: 'integer', minimum: 1, description: 'Results kept; all when left out.' },
      return_documents: { type: 'boolean', description: 'Default true.' },
      rid: { ...RID, description: 'Comes back as `id`.' },
    },
    ['model', 'query', 'documents'],
  ),
  examples: one('Two documents', { model: MODEL_NAME, ...PAPERS }),
};

export const RERANK_V1_BODY: InferenceBody = {
  schema: open({ query: { type: 'string' }, documents: DOCUMENTS }, ['query', 'documents']),
  examples: one('Two documents', PAPERS),
};

/** A realtime session; what it is to be like is for the engine to judge. */
export const REALTIME_BODY: InferenceBody = {
  schema: open({ model: MODEL }, ['model']),
  examples: one('A session', { model: MODEL_NAME, voice: 'alloy' }),
};

export const CLIENT_SECRET_BODY: InferenceBody = {
  schema: open({ session: open({ model: MODEL }, ['model']) }, ['session']),
  examples: one('A key for a page', { session: { type: 'realtime', model: MODEL_NAME } }),
};

export const TRANSCRIPTION_FORM: InferenceBody = {
  schema: open(
    {
      file: { type: 'string', format: 'binary', description: 'Audio, not empty.' },
      model: MODEL,
      stream: STREAM,
      prompt: { type: 'string', maxLength: 65_536 },
    },
    ['file', 'model'],
  ),
  examples: one('A recording', { file: 'speech.wav', model: MODEL_NAME }),
};

const ANY_MODEL = { ...MODEL, description: 'Left out: any worker.' } as const;
const TOKENS = { type: 'array', items: { type: 'integer' } } as const;

export const TOKENS_BODY: InferenceBody = {
  schema: open(
    {
      model: ANY_MODEL,
      token_ids: TOKENS,
      sampling_params: { type: 'object', additionalProperties: true },
      cache_salt: { type: 'string' },
      stream: STREAM,
    },
    [],
  ),
  examples: one('Token ids', { token_ids: [1, 2, 3], sampling_params: { max_tokens: 8 } }),
};

export const RENDER_BODY: InferenceBody = {
  schema: open({ model: ANY_MODEL, messages: MESSAGES }, []),
  examples: one('One message', { model: MODEL_NAME, messages: HELLO }),
};

export const TOKENIZE_BODY: InferenceBody = {
  schema: open({ model: ANY_MODEL, prompt: { type: 'string' }, messages: MESSAGES }, []),
  examples: one('A text', { prompt: 'Hello!' }),
};

export const DETOKENIZE_BODY: InferenceBody = {
  schema: open({ model: ANY_MODEL, tokens: TOKENS }, []),
  examples: one('Token ids', { tokens: [1, 2, 3] }),
};
