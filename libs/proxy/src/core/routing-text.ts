import { type Endpoint } from '@smg/protocol';
import { type JsonObject } from './request-facts';

/** Collects texts that a prefix policy compares; the joint is one space. */
class Pieces {
  private joined: string | undefined;

  add(value: unknown): void {
    if (typeof value !== 'string') return;
    this.joined = this.joined === undefined ? value : `${this.joined} ${value}`;
  }

  /** A string, or an array of strings. */
  addAll(value: unknown): void {
    if (!Array.isArray(value)) this.add(value);
    else for (const item of value) this.add(item);
  }

  /** A string, or parts of which those with a `text` count. */
  addContent(value: unknown): void {
    if (!Array.isArray(value)) {
      this.add(value);
      return;
    }
    for (const part of value) this.add(isObject(part) ? part['text'] : part);
  }

  get text(): string | undefined {
    return this.joined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of a request that prefix policies match on; undefined when it has none. */
export function routingTextOf(endpoint: Endpoint, json: JsonObject): string | undefined {
  const pieces = new Pieces();
  switch (endpoint) {
    case 'generate':
      pieces.addAll(json['text']);
      if (pieces.text === undefined) return bodyTokensOf(json)?.join(' ');
      break;
    case 'chat':
      addMessages(pieces, json['messages']);
      break;
    case 'messages':
      pieces.addContent(json['system']);
      addMessages(pieces, json['messages']);
      break;
    case 'completions':
    case 'audio_transcriptions':
      pieces.addAll(json['prompt']);
      break;
    case 'embeddings':
    case 'classify':
      pieces.addAll(json['input']);
      break;
    case 'rerank':
      pieces.add(json['query']);
      break;
    case 'responses':
      addResponseInput(pieces, json['input']);
      break;
    default:
    // Sessions and information routes have no prompt.
  }
  return pieces.text;
}

function addMessages(pieces: Pieces, messages: unknown): void {
  if (!Array.isArray(messages)) return;
  for (const message of messages) {
    if (!isObject(message)) continue;
    pieces.addContent(message['content']);
    if (message['role'] === 'assistant') pieces.add(message['reasoning_content']);
  }
}

function addResponseInput(pieces: Pieces, input: unknown): void {
  if (!Array.isArray(input)) {
    pieces.add(input);
    return;
  }
  for (const item of input) {
    if (!isObject(item)) continue;
    pieces.add(item['text']);
    pieces.addContent(item['content']);
  }
}

/** Token ids in the body: `input_ids` or `token_ids`, the first sequence of a batch; undefined when there are none. */
export function bodyTokensOf(json: JsonObject): readonly number[] | undefined {
  const ids: unknown = json['input_ids'] ?? json['token_ids'];
  if (!Array.isArray(ids) || ids.length === 0) return undefined;
  const first: unknown = ids[0];
  const sequence: unknown[] = Array.isArray(first) ? first : ids;
  if (sequence.length === 0) return undefined;
  for (const id of sequence) if (typeof id !== 'number') return undefined;
  return sequence as number[];
}
