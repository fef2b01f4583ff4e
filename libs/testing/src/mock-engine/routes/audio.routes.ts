import { type RouteContext, type RouteTable } from '../route-table';
import { sleep } from '../sleep';
import { engineError } from '../engine-error';

const PIECES = ['Hello', ' from', ' the', ' tape'];

/** Reads the form with a parser that is not the gateway's. */
async function formOf({ request }: RouteContext): Promise<FormData | undefined> {
  const headers = { 'content-type': request.header('content-type') ?? '' };
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- a second opinion on what the gateway sends
    return await new Response(new Uint8Array(request.body), { headers }).formData();
  } catch {
    return undefined;
  }
}

async function transcriptions(context: RouteContext): Promise<void> {
  const { answer, options } = context;
  const form = await formOf(context);
  const file = form?.get('file');
  if (form === undefined || typeof file === 'string' || file === null || file === undefined) {
    return answer.json(400, engineError(options.kind, 400, 'file is required'));
  }
  await sleep(options.latencyMs, answer.signal);
  const model = form.get('model');
  if (form.get('stream') !== 'true') {
    return answer.json(200, { text: PIECES.join(''), model, bytes: file.size, name: file.name });
  }
  await answer.head(200, { 'content-type': 'text/event-stream' });
  for (const delta of PIECES) {
    const event = { type: 'transcript.text.delta', delta };
    await answer.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  await answer.write(
    `data: ${JSON.stringify({ type: 'transcript.text.done', text: PIECES.join('') })}\n\n`,
  );
  return answer.end('data: [DONE]\n\n');
}

export function addAudio(table: RouteTable): void {
  table.inference('/v1/audio/transcriptions', transcriptions);
}
