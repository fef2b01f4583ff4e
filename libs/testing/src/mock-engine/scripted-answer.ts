import { type Answer } from './answer';
import { type Behaviour, type Chunk } from './behaviour';
import { engineError } from './engine-error';
import { type EngineKind } from './mock-engine.options';
import { sleep } from './sleep';

const dataOf = (chunk: Chunk): string | Buffer =>
  typeof chunk === 'string' || Buffer.isBuffer(chunk) ? chunk : chunk.data;

const delayOf = (chunk: Chunk): number =>
  typeof chunk === 'string' || Buffer.isBuffer(chunk) ? 0 : (chunk.delayMs ?? 0);

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function hasHeader(headers: Behaviour['headers'], name: string): boolean {
  if (headers === undefined) return false;
  const names = Array.isArray(headers)
    ? (headers as readonly string[]).filter((_, at) => at % 2 === 0)
    : Object.keys(headers);
  return names.some((candidate) => candidate.toLowerCase() === name);
}

/** Gives the answer a behaviour describes. */
export async function giveScriptedAnswer(
  answer: Answer,
  behaviour: Behaviour,
  kind: EngineKind,
): Promise<void> {
  const status = behaviour.status ?? 200;
  const chunks: readonly Chunk[] =
    behaviour.chunks ??
    (behaviour.body !== undefined
      ? [bytesOf(behaviour.body)]
      : status >= 400
        ? [JSON.stringify(engineError(kind, status, 'scripted failure'))]
        : []);
  if (behaviour.rawHead !== undefined) {
    await answer.raw(behaviour.rawHead, chunks.map(dataOf));
    return;
  }
  const framing = behaviour.framing ?? (behaviour.chunks === undefined ? 'length' : 'chunked');
  const headers: string[] = [];
  if (!hasHeader(behaviour.headers, 'content-type')) {
    headers.push(
      'content-type',
      behaviour.chunks === undefined ? 'application/json' : 'text/event-stream',
    );
  }
  if (framing === 'length' && !hasHeader(behaviour.headers, 'content-length')) {
    const length = chunks.reduce((sum, chunk) => sum + Buffer.byteLength(dataOf(chunk)), 0);
    headers.push('content-length', String(length));
  }
  await answer.head(status, headers, framing);
  await sleep(behaviour.delayBodyMs ?? 0, answer.signal);
  for (const chunk of chunks) {
    await sleep(delayOf(chunk), answer.signal);
    await answer.write(dataOf(chunk));
    // One write, one segment: Node would join writes of the same turn.
    await new Promise(setImmediate);
    if (answer.isOver) return;
  }
  await answer.end();
}
