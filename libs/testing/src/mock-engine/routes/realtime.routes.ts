import { objectOf, type RouteContext, type RouteTable } from '../route-table';

/** A session as OpenAI describes one. The headers are there to see which of them are relayed. */
function session(model: unknown, context: RouteContext): Promise<void> {
  const id = `sess-${context.port}-${context.nextId()}`;
  return context.answer.json(
    200,
    { id, object: 'realtime.session', model, client_secret: { value: `ek-${id}`, expires_at: 1 } },
    { 'x-engine-header': 'kept to itself', 'set-cookie': 'engine=1' },
  );
}

const plain = (context: RouteContext): Promise<void> =>
  session(context.request.jsonObject()?.['model'], context);

const nested = (context: RouteContext): Promise<void> =>
  session(objectOf(context.request.jsonObject()?.['session'])['model'], context);

export function addRealtime(table: RouteTable): void {
  table.inference('/v1/realtime/sessions', plain);
  table.inference('/v1/realtime/transcription_sessions', plain);
  table.inference('/v1/realtime/client_secrets', nested);
}
