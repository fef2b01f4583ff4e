import { type Generation } from '../generation';
import { intOf, objectOf, type RouteContext, type RouteTable } from '../route-table';
import { SseWriter } from '../sse';
import {
  CREATED,
  kvTransferOf,
  metadataOf,
  modelOf,
  refuse,
  startChoice,
  textOfMessages,
  usageOf,
  type Body,
} from './openai-generation';
import { idsOf, logprobsOf } from './token.routes';

async function chat(context: RouteContext): Promise<void> {
  const body = context.request.jsonObject();
  if (body === undefined) return refuse(context, 'the body is not a JSON object');
  const messages = body['messages'];
  if (!Array.isArray(messages) || messages.length === 0) {
    return refuse(context, 'messages must be a list with at least one message');
  }
  const prompt = textOfMessages(messages as unknown[]);
  const choices = Array.from({ length: intOf(body['n']) ?? 1 }, () =>
    startChoice(context, body, prompt, 'chatcmpl-'),
  );
  const head = { id: choices[0]?.rid ?? '', created: CREATED, model: modelOf(body, context) };
  if (body['stream'] === true) return streamChat(context, body, choices, head);
  await Promise.all(choices.map((choice) => choice.run(context.answer.signal)));
  const wantsIds = context.options.kind === 'vllm' && body['return_token_ids'] === true;
  return context.answer.json(200, {
    ...head,
    object: 'chat.completion',
    choices: choices.map(({ text, finish, tokens }, index) => ({
      index,
      message: { role: 'assistant', content: text, reasoning_content: null, tool_calls: null },
      logprobs: body['logprobs'] === true ? logprobsOf(tokens, wantsIds) : null,
      finish_reason: finish,
      ...(wantsIds ? { token_ids: tokens.map(({ id }) => id) } : {}),
    })),
    ...(wantsIds ? { prompt_token_ids: idsOf(prompt) } : {}),
    usage: usageOf(choices),
    ...kvTransferOf(context, body, head.id),
    ...metadataOf(context, choices[0]),
  });
}

async function streamChat(
  context: RouteContext,
  body: Body,
  choices: readonly Generation[],
  head: object,
): Promise<void> {
  const sse = new SseWriter(context.answer);
  const chunk = (index: number, delta: object, finish: string | null): Promise<void> =>
    sse.data({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index, delta, logprobs: null, finish_reason: finish }],
    });
  await sse.open();
  await Promise.all(
    choices.map(async (choice, index) => {
      await chunk(index, { role: 'assistant', content: '' }, null);
      await choice.run(context.answer.signal, ({ text }) => chunk(index, { content: text }, null));
      await chunk(index, {}, choice.finish ?? null);
    }),
  );
  if (objectOf(body['stream_options'])['include_usage'] === true) {
    await sse.data({
      ...head,
      object: 'chat.completion.chunk',
      choices: [],
      usage: usageOf(choices),
    });
  }
  return sse.done();
}

/** Prompts of a completion: text, texts, token ids, or lists of them. */
function promptsOf(prompt: unknown): readonly string[] | undefined {
  if (typeof prompt === 'string') return [prompt];
  if (!Array.isArray(prompt) || prompt.length === 0) return undefined;
  const list = prompt as unknown[];
  if (list.every((one) => typeof one === 'string')) return list;
  if (list.every((one) => typeof one === 'number')) return [list.join(' ')];
  return list.every(Array.isArray) ? list.map((ids) => (ids as unknown[]).join(' ')) : undefined;
}

async function completions(context: RouteContext): Promise<void> {
  const body = context.request.jsonObject();
  const prompts = promptsOf(body?.['prompt']);
  if (body === undefined || prompts === undefined) {
    return refuse(context, 'prompt must be text, a list of texts, or token ids');
  }
  const n = intOf(body['n']) ?? 1;
  const choices = prompts.flatMap((prompt) =>
    Array.from({ length: n }, () => startChoice(context, body, prompt, 'cmpl-')),
  );
  const head = {
    id: choices[0]?.rid ?? '',
    object: 'text_completion',
    created: CREATED,
    model: modelOf(body, context),
  };
  const { signal } = context.answer;
  if (body['stream'] === true) {
    const sse = new SseWriter(context.answer);
    const chunk = (index: number, text: string, finish: string | null): Promise<void> =>
      sse.data({ ...head, choices: [{ index, text, logprobs: null, finish_reason: finish }] });
    await sse.open();
    await Promise.all(
      choices.map(async (choice, index) => {
        await choice.run(signal, ({ text }) => chunk(index, text, null));
        await chunk(index, '', choice.finish ?? null);
      }),
    );
    return sse.done();
  }
  await Promise.all(choices.map((choice) => choice.run(signal)));
  return context.answer.json(200, {
    ...head,
    choices: choices.map(({ text, finish }, index) => ({
      index,
      text,
      logprobs: null,
      finish_reason: finish,
    })),
    usage: usageOf(choices),
    ...kvTransferOf(context, body, head.id),
    ...metadataOf(context, choices[0]),
  });
}

export function addChat(table: RouteTable): void {
  table.inference('/v1/chat/completions', chat);
  table.inference('/v1/completions', completions);
}
