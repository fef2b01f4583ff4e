import { engineError } from '../engine-error';
import { type Generation } from '../generation';
import { type RouteContext, type RouteTable } from '../route-table';
import { SseWriter } from '../sse';
import {
  CREATED,
  modelOf,
  refuse,
  startChoice,
  textOfMessages,
  type Body,
} from './openai-generation';

/** Input of a response as text: a string, or items with content. */
function inputOf(body: Body): string | undefined {
  const input = body['input'];
  if (typeof input === 'string') return input;
  return Array.isArray(input) ? textOfMessages(input as unknown[]) : undefined;
}

function itemOf(generation: Generation, status: string): object {
  const content =
    status === 'completed' ? [{ type: 'output_text', text: generation.text, annotations: [] }] : [];
  return { type: 'message', id: `msg_${generation.rid}`, status, role: 'assistant', content };
}

function responseOf(generation: Generation, model: string, status: string): object {
  const isDone = status === 'completed';
  return {
    id: generation.rid,
    object: 'response',
    created_at: CREATED,
    status,
    model,
    output: isDone ? [itemOf(generation, status)] : [],
    error: null,
    usage: isDone
      ? {
          input_tokens: generation.promptTokens,
          output_tokens: generation.tokens.length,
          total_tokens: generation.promptTokens + generation.tokens.length,
        }
      : null,
  };
}

async function responses(context: RouteContext): Promise<void> {
  const body = context.request.jsonObject();
  const input = body === undefined ? undefined : inputOf(body);
  if (body === undefined || input === undefined) {
    return refuse(context, 'input must be text or a list of items');
  }
  const generation = startChoice(context, body, input, 'resp_');
  const model = modelOf(body, context);
  if (body['stream'] === true) return streamResponse(context, generation, model);
  await generation.run(context.answer.signal);
  return context.answer.json(200, responseOf(generation, model, 'completed'));
}

/** Numbered, named events; the stream ends with `response.completed`, without `[DONE]`. */
async function streamResponse(
  context: RouteContext,
  generation: Generation,
  model: string,
): Promise<void> {
  const sse = new SseWriter(context.answer);
  let sequence = 0;
  const send = (type: string, rest: object): Promise<void> =>
    sse.event(type, { type, sequence_number: sequence++, ...rest });
  const place = { item_id: `msg_${generation.rid}`, output_index: 0, content_index: 0 };
  const part = (text: string): object => ({ type: 'output_text', text, annotations: [] });
  await sse.open();
  const started = { response: responseOf(generation, model, 'in_progress') };
  await send('response.created', started);
  await send('response.in_progress', started);
  await send('response.output_item.added', {
    output_index: 0,
    item: itemOf(generation, 'in_progress'),
  });
  await send('response.content_part.added', { ...place, part: part('') });
  await generation.run(context.answer.signal, ({ text }) =>
    send('response.output_text.delta', { ...place, delta: text }),
  );
  await send('response.output_text.done', { ...place, text: generation.text });
  await send('response.content_part.done', { ...place, part: part(generation.text) });
  await send('response.output_item.done', {
    output_index: 0,
    item: itemOf(generation, 'completed'),
  });
  await send('response.completed', { response: responseOf(generation, model, 'completed') });
  return sse.end();
}

/** GET of one response, POST of its cancel: nothing is stored, so the id is all that comes back. */
async function stored(context: RouteContext): Promise<void> {
  const id = context.request.route.split('/')[3] ?? '';
  if (!id.startsWith('resp_')) {
    const message = `no response with id '${id}'`;
    return context.answer.json(404, engineError(context.options.kind, 404, message));
  }
  return context.answer.json(200, {
    id,
    object: 'response',
    created_at: CREATED,
    status: context.request.route.endsWith('/cancel') ? 'cancelled' : 'completed',
    model: context.options.servedModelName,
    output: [],
  });
}

export function addResponses(table: RouteTable): void {
  table.inference('/v1/responses', responses);
  table.add('GET POST', '/v1/responses/', stored);
}
