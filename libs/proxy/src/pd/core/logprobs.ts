import { itemsOf, valueOf, type ValueSpan } from './field-edits';
import { type Endpoint } from '@smg/protocol';
import { type JsonObject } from '../../core/request-facts';
import { skipSpace } from '../../core/json-splice';

// The prompt's logprobs are known to the prefill engine alone; the client gets them in front of those
// of the decode engine. Source: SMG contract 6.1.

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const DATA = /^data: ?/;

/** Whether a request asks for logprobs that are to be joined. */
export function wantsLogprobs(endpoint: Endpoint, json: JsonObject): boolean {
  if (endpoint === 'generate') return json['return_logprob'] === true;
  if (endpoint === 'chat') return json['logprobs'] === true;
  if (endpoint !== 'completions') return false;
  return typeof json['logprobs'] === 'number' || json['logprobs'] === true;
}

/** Input logprobs of a prefill answer, as JSON texts by the index of the sequence. */
export type PromptLogprobs = ReadonlyMap<number, string>;

/** @param isStream the answer is an event stream. */
export function promptLogprobsOf(answer: Buffer, isStream: boolean): PromptLogprobs {
  const found = new Map<number, string>();
  if (!isStream) {
    for (const [index, { from }] of objectsIn(answer).entries()) note(found, answer, from, index);
    return found;
  }
  for (const line of answer.toString('utf8').split(/\r?\n/)) {
    if (!DATA.test(line)) continue;
    const event = Buffer.from(line.replace(DATA, ''));
    const [only] = objectsIn(event);
    if (only !== undefined && event[only.from] === OPEN_BRACE) {
      note(found, event, only.from, indexOf(event));
    }
  }
  return found;
}

function note(found: Map<number, string>, body: Buffer, open: number, index: number): void {
  const inner = inputLogprobs(body, open);
  const text = inner === undefined ? '' : body.toString('utf8', inner.from, inner.to).trim();
  if (text !== '') found.set(index, text);
}

/** A whole answer with the prompt's logprobs in it; the same bytes where there is nothing to join. */
export function joinLogprobs(answer: Buffer, prompt: PromptLogprobs): Buffer {
  if (prompt.size === 0) return answer;
  const parts: Buffer[] = [];
  let at = 0;
  for (const [index, { from }] of objectsIn(answer).entries()) {
    const text = prompt.get(index);
    const inner = text === undefined ? undefined : inputLogprobs(answer, from);
    if (text === undefined || inner === undefined) continue;
    const isEmpty = skipSpace(answer, inner.from) >= inner.to;
    parts.push(answer.subarray(at, inner.from), Buffer.from(isEmpty ? text : `${text},`));
    at = inner.from;
  }
  return at === 0 ? answer : Buffer.concat([...parts, answer.subarray(at)]);
}

/** One line of an event stream, without its end, joined like a whole answer. */
export function joinLine(line: Buffer, prompt: PromptLogprobs): Buffer {
  const prefix = DATA.exec(line.toString('latin1', 0, 6))?.[0].length;
  if (prefix === undefined) return line;
  const event = line.subarray(prefix);
  const text = prompt.get(indexOf(event));
  if (text === undefined) return line;
  const joined = joinLogprobs(event, new Map([[0, text]]));
  return joined === event ? line : Buffer.concat([line.subarray(0, prefix), joined]);
}

/** `index` of an event of a batch; 0 when it has none. */
function indexOf(event: Buffer): number {
  if (objectsIn(event).length === 0) return 0;
  const span = valueOf(event, event.indexOf(OPEN_BRACE), 'index');
  return span === undefined ? 0 : Number(event.toString('latin1', span.from, span.to));
}

/** The object that the bytes are, or those of the list that they are; none of what is no JSON. */
function objectsIn(body: Buffer): readonly ValueSpan[] {
  const start = skipSpace(body, 0);
  if (body[start] !== OPEN_BRACE && body[start] !== OPEN_BRACKET) return [];
  try {
    JSON.parse(body.toString('utf8'));
  } catch {
    return [];
  }
  return body[start] === OPEN_BRACE ? [{ from: start, to: body.length }] : itemsOf(body, start);
}

/** Between the brackets of `meta_info.input_token_logprobs`. */
function inputLogprobs(body: Buffer, open: number): ValueSpan | undefined {
  if (body[open] !== OPEN_BRACE) return undefined;
  const meta = valueOf(body, open, 'meta_info');
  if (meta === undefined || body[meta.from] !== OPEN_BRACE) return undefined;
  const list = valueOf(body, meta.from, 'input_token_logprobs');
  if (list === undefined || body[list.from] !== OPEN_BRACKET) return undefined;
  return { from: list.from + 1, to: list.to - 1 };
}
