import { type Endpoint, readJsonMembers } from '@smg/protocol';
import { EventCount } from './event-count';

/** Bytes after the name of a usage object in which its figures are looked for. */
const WINDOW = 512;
/** Bytes of an answer that is read member by member; larger ones are searched, which is not as exact. */
const MAX_READ_BYTES = 64 * 1024;
const OPEN_ARRAY = 0x5b;
const LF = 0x0a;

const IS_OBJECT = /^\s*:\s*\{/;
const TOTAL = /"total_tokens"\s*:\s*(\d{1,10})\b/;
const INPUT = /"(?:prompt|input)_tokens"\s*:\s*(\d{1,10})\b/;
const OUTPUT = /"(?:completion|output)_tokens"\s*:\s*(\d{1,10})\b/;
/** Anthropic counts what came from or went into the cache beside the input. */
const CACHED = /"cache_(?:creation|read)_input_tokens"\s*:\s*(\d{1,10})\b/g;

/** SGLang reports inside `meta_info`, the others in `usage`. */
function nameOf(endpoint: Endpoint): string {
  return endpoint === 'generate' ? 'meta_info' : 'usage';
}

/**
 * Figures of the usage reports seen so far. Engines report totals, so that the largest is the latest;
 * and a request that gets an engine to echo a smaller one gains nothing.
 */
class Figures {
  private total = -1;
  private input = -1;
  private output = -1;

  /** @param text starts inside a usage object; a name with its quotes and colon is no string's content. */
  see(text: string): void {
    this.total = Math.max(this.total, numberIn(TOTAL, text));
    this.output = Math.max(this.output, numberIn(OUTPUT, text));
    let input = numberIn(INPUT, text);
    if (input < 0) return;
    for (const match of text.matchAll(CACHED)) input += Number(match[1]);
    this.input = Math.max(this.input, input);
  }

  get tokens(): number | undefined {
    const sum = this.input < 0 || this.output < 0 ? -1 : this.input + this.output;
    const most = Math.max(this.total, sum);
    return most < 0 ? undefined : most;
  }
}

function numberIn(pattern: RegExp, text: string): number {
  return Number(pattern.exec(text)?.[1] ?? -1);
}

/** Tokens that a whole JSON answer says were used; undefined when it does not say. */
export function usageOf(endpoint: Endpoint, body: Buffer): number | undefined {
  const name = nameOf(endpoint);
  const isBatch = body[0] === OPEN_ARRAY;
  if (body.length > MAX_READ_BYTES) return isBatch ? undefined : searchedUsage(endpoint, body);
  if (isBatch) return batchUsage(name, body);
  const member = readJsonMembers(body, [name])?.get(name);
  return member?.kind === 'object' ? usageIn(member.lexeme) : undefined;
}

/** Like in a stream, anything of that name counts. */
function searchedUsage(endpoint: Endpoint, body: Buffer): number | undefined {
  const figures = new Figures();
  scan(body, needleOf(endpoint), figures);
  return figures.tokens;
}

const needleOf = (endpoint: Endpoint): Buffer => Buffer.from(`"${nameOf(endpoint)}"`);

function scan(bytes: Buffer, needle: Buffer, figures: Figures): void {
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at)) {
    at += needle.length;
    const text = bytes.toString('latin1', at, at + WINDOW);
    if (IS_OBJECT.test(text)) figures.see(text);
  }
}

function usageIn(text: string): number | undefined {
  const figures = new Figures();
  figures.see(text);
  return figures.tokens;
}

/** A batch is answered with a list, each entry with figures of its own. */
function batchUsage(name: string, body: Buffer): number | undefined {
  let entries: unknown;
  try {
    entries = JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
  let sum = 0;
  for (const entry of entries as unknown[]) {
    if (typeof entry !== 'object' || entry === null) return undefined;
    const report: unknown = (entry as Readonly<Record<string, unknown>>)[name];
    const tokens = usageIn(JSON.stringify(report ?? null));
    if (tokens === undefined) return undefined;
    sum += tokens;
  }
  return sum;
}

/**
 * Anthropic's stream opens with figures that hold the prompt and a token or none; what was generated
 * comes in this event, after the text. Who hangs up before it has not been told what it used.
 */
const MESSAGE_FIGURES = Buffer.from('"message_delta"');

/** Watches an event stream go by for usage reports, and holds no more of it than half a kilobyte. */
export class UsageWatch {
  private readonly needle: Buffer;
  private readonly figures = new Figures();
  private readonly count = new EventCount();
  /** What the figures are about has been generated. */
  private isTelling: boolean;
  /** End of what came before, while it ends inside a line. */
  private carry = '';

  constructor(endpoint: Endpoint) {
    this.needle = needleOf(endpoint);
    this.isTelling = endpoint !== 'messages';
  }

  /** Tokens used so far, as reported; undefined while nothing was. */
  get tokens(): number | undefined {
    return this.isTelling ? this.figures.tokens : undefined;
  }

  /** Events so far; engines send one for each token, or for several. */
  get events(): number {
    return this.count.value;
  }

  see(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.count.see(chunk);
    if (this.carry !== '') this.scan(Buffer.from(this.carry + head(chunk), 'latin1'));
    this.scan(chunk);
    this.carry = chunk[chunk.length - 1] === LF ? '' : (this.carry + tail(chunk)).slice(-WINDOW);
  }

  private scan(bytes: Buffer): void {
    scan(bytes, this.needle, this.figures);
    this.isTelling ||= bytes.includes(MESSAGE_FIGURES);
  }
}

const head = (chunk: Buffer): string => chunk.toString('latin1', 0, WINDOW);
const tail = (chunk: Buffer): string =>
  chunk.toString('latin1', Math.max(0, chunk.length - WINDOW));
