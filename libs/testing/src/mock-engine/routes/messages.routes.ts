import { type Generation } from '../generation';
import { intOf, type RouteContext, type RouteTable } from '../route-table';
import { SseWriter } from '../sse';
import { modelOf, refuse, startChoice, textOfMessages } from './openai-generation';

const stopReason = (generation: Generation): string =>
  generation.finish === 'length' ? 'max_tokens' : 'end_turn';

/** The Anthropic protocol: named events, no `[DONE]`. */
async function messages(context: RouteContext): Promise<void> {
  const body = context.request.jsonObject();
  const list = body?.['messages'];
  if (body === undefined || !Array.isArray(list) || list.length === 0) {
    return refuse(context, 'messages must be a list with at least one message');
  }
  if (intOf(body['max_tokens']) === undefined) return refuse(context, 'max_tokens is required');
  const generation = startChoice(context, body, textOfMessages(list as unknown[]), 'msg_');
  const message = {
    id: generation.rid,
    type: 'message',
    role: 'assistant',
    model: modelOf(body, context),
    content: [] as unknown[],
    stop_reason: null as string | null,
    stop_sequence: null,
    usage: { input_tokens: generation.promptTokens, output_tokens: 0 },
  };
  if (body['stream'] === true) return streamMessage(context, generation, message);
  await generation.run(context.answer.signal);
  return context.answer.json(200, {
    ...message,
    content: [{ type: 'text', text: generation.text }],
    stop_reason: stopReason(generation),
    usage: { ...message.usage, output_tokens: generation.tokens.length },
  });
}

async function streamMessage(
  context: RouteContext,
  generation: Generation,
  message: object,
): Promise<void> {
  const sse = new SseWriter(context.answer);
  const send = (type: string, rest: object): Promise<void> => sse.event(type, { type, ...rest });
  await sse.open();
  await send('message_start', { message });
  await send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  await send('ping', {});
  await generation.run(context.answer.signal, ({ text }) =>
    send('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  );
  await send('content_block_stop', { index: 0 });
  await send('message_delta', {
    delta: { stop_reason: stopReason(generation), stop_sequence: null },
    usage: { output_tokens: generation.tokens.length },
  });
  await send('message_stop', {});
  return sse.end();
}

export function addMessages(table: RouteTable): void {
  table.inference('/v1/messages', messages);
}
