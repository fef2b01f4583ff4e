import {
  readResponseHeaders,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamRequest,
  type UpstreamTransport,
} from '@smg/upstream';
import { JsonWatch } from '../core/json-watch';
import { DoneWatch, LogprobLines, upToMarker } from './core/event-lines';
import { joinLogprobs, type PromptLogprobs } from './core/logprobs';

/** Bytes of an error answer that are read for its message. */
const ERROR_BYTES = 64 * 1024;
/** What an engine may still say after the end marker. */
const REST_BYTES = 64 * 1024;
const REST_MS = 1000;
const NOTHING: PromptLogprobs = new Map();

/** Told what an attempt cannot see from behind the gate. */
export interface GateListener {
  /** The head of another status than success. */
  onDecodeRefusing(): void;
  /** Such an answer, whole. */
  onDecodeRefusal(status: number, body: Buffer): void;
  /** Such an answer broke off. */
  onDecodeUnreadable(failure: UpstreamFailure): void;
  /** The first byte of the body. */
  onDecodeByte(): void;
  /** The answer is complete; what its reader is told next is the end. */
  onDecodeEnd(): void;
  /** The reader wants no more. */
  onDecodeAborted(): void;
}

/**
 * Stands between the decode worker and the attempt that relays its answer: holds the answer back until
 * it is known that prefill succeeded, joins logprobs, and takes refusals out of the attempt's hands.
 * To the attempt it is the transport.
 */
export class DecodeGate
  implements UpstreamHandler, UpstreamCall, Pick<UpstreamTransport, 'dispatch'>
{
  private call: UpstreamCall | undefined;
  private reader: UpstreamHandler | undefined;
  private prompt: PromptLogprobs = NOTHING;
  private isOpen = false;
  private isAborted = false;
  private status = 0;
  private rawHeaders: readonly string[] | undefined;
  private held: Buffer[] = [];
  private bytes = 0;
  private hasBegun = false;
  private ended = false;
  private lines: LogprobLines | undefined;
  private joinsWhole = false;
  private done: DoneWatch | undefined;
  private isPastEnd = false;
  private rest: NodeJS.Timeout | undefined;

  /** @param limit bytes of an answer that may be held. */
  constructor(
    private readonly transport: Pick<UpstreamTransport, 'dispatch'>,
    private readonly limit: number,
    private readonly listener: GateListener,
  ) {}

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    this.reader = handler;
    this.call = this.transport.dispatch(request, this);
    return this;
  }

  /** Prefill succeeded: the answer may pass. @param prompt logprobs that go in front of decode's. */
  open(prompt: PromptLogprobs): void {
    this.prompt = prompt;
    // Not from inside the parser of the prefill connection: no other may be read on meanwhile.
    process.nextTick(passHeld, this);
  }

  /** @internal */
  passHeld(): void {
    if (this.isOpen || this.isAborted) return;
    this.isOpen = true;
    if (this.rawHeaders === undefined) return;
    this.passHead(this.rawHeaders);
    const { held } = this;
    this.held = [];
    let isWritable = true;
    for (const chunk of held) isWritable = this.pass(chunk);
    if (this.isStopped()) return;
    if (this.ended) this.onEnd();
    else if (isWritable) this.call?.resume();
  }

  get hasAnswered(): boolean {
    return this.call?.hasAnswered === true;
  }

  abort(): void {
    if (this.isAborted || this.isPastEnd) return;
    this.isAborted = true;
    this.held = [];
    this.call?.abort();
    this.listener.onDecodeAborted();
  }

  resume(): void {
    if (!this.isAborted) this.call?.resume();
  }

  onResend(): boolean {
    return this.reader?.onResend?.() !== false;
  }

  onHead(status: number, rawHeaders: readonly string[]): void {
    this.status = status;
    if (status < 200 || status > 299) {
      this.listener.onDecodeRefusing();
      return;
    }
    this.rawHeaders = rawHeaders;
    if (this.isOpen) this.passHead(rawHeaders);
  }

  onData(chunk: Buffer): boolean {
    if (this.isAborted) return true;
    if (this.isPastEnd) return this.dropRest(chunk);
    if (this.rawHeaders === undefined) {
      if (this.bytes < ERROR_BYTES) this.held.push(chunk);
      this.bytes += chunk.length;
      return true;
    }
    if (!this.isOpen) {
      this.held.push(chunk);
      return false;
    }
    return this.pass(chunk);
  }

  onEnd(): void {
    if (this.isAborted) return;
    if (this.isPastEnd) {
      clearTimeout(this.rest);
      return;
    }
    if (this.rawHeaders === undefined) {
      const body = Buffer.concat(this.held);
      this.held = [];
      this.listener.onDecodeRefusal(this.status, body);
      return;
    }
    if (!this.isOpen) {
      this.ended = true;
      return;
    }
    this.flush();
    if (!this.isStopped()) this.endReader();
  }

  onError(failure: UpstreamFailure): void {
    if (this.isAborted) return;
    if (this.isPastEnd) {
      clearTimeout(this.rest);
      return;
    }
    if (this.rawHeaders === undefined && this.status !== 0) {
      this.listener.onDecodeUnreadable(failure);
      return;
    }
    this.held = [];
    // Also while the answer is held: without all of its bytes it is of no use.
    this.isAborted = true;
    this.listener.onDecodeAborted();
    this.reader?.onError(failure);
  }

  /** Chunks that are passed on may make the reader abort. */
  private isStopped(): boolean {
    return this.isAborted || this.isPastEnd;
  }

  private passHead(rawHeaders: readonly string[]): void {
    const relay = readResponseHeaders(rawHeaders);
    const isSized = relay.contentLength >= 0;
    const mayJoin = this.prompt.size > 0 && !relay.encoded;
    if (mayJoin && relay.eventStream) this.lines = new LogprobLines(this.prompt, this.limit);
    else if (mayJoin && JsonWatch.covers(relay.contentType)) this.joinsWhole = true;
    if (relay.eventStream && !relay.encoded && !isSized) this.done = new DoneWatch();
    const isChanged = this.lines !== undefined || this.joinsWhole;
    this.reader?.onHead(this.status, isChanged && isSized ? unsized(rawHeaders) : rawHeaders);
  }

  private pass(chunk: Buffer): boolean {
    if (this.isStopped()) return true;
    if (!this.hasBegun && chunk.length > 0) {
      this.hasBegun = true;
      this.listener.onDecodeByte();
    }
    if (this.joinsWhole) return this.hold(chunk);
    const end = this.done?.see(chunk) ?? -1;
    const last = end === -1 ? chunk : upToMarker(chunk, end);
    const isWritable = this.deliver(last);
    if (end === -1 || this.isStopped()) return isWritable;
    this.flush();
    if (!this.isStopped()) this.passMarker();
    return true;
  }

  private deliver(chunk: Buffer): boolean {
    const bytes = this.lines === undefined ? chunk : this.lines.push(chunk);
    if (bytes === undefined) {
      this.call?.abort();
      this.onError({ kind: 'invalid', message: 'an event is too long' });
      return true;
    }
    return bytes.length === 0 || this.reader?.onData(bytes) !== false;
  }

  /** Holds an answer that is joined as a whole. */
  private hold(chunk: Buffer): boolean {
    this.held.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes <= this.limit) return true;
    // Larger than anybody may hold: the reader says so.
    this.joinsWhole = false;
    const { held } = this;
    this.held = [];
    return this.reader?.onData(Buffer.concat(held)) !== false;
  }

  private flush(): void {
    const left = this.joinsWhole
      ? joinLogprobs(Buffer.concat(this.held), this.prompt)
      : this.lines?.end();
    this.held = [];
    if (left !== undefined && left.length > 0) this.reader?.onData(left);
  }

  /** The stream is over for the client, whatever the engine still says. */
  private passMarker(): void {
    this.isPastEnd = true;
    this.bytes = 0;
    this.rest = setTimeout(onRestOver, REST_MS, this);
    this.rest.unref();
    this.endReader();
    this.call?.resume();
  }

  private dropRest(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.bytes > REST_BYTES) this.restOver();
    return true;
  }

  /** @internal */
  restOver(): void {
    clearTimeout(this.rest);
    this.isAborted = true;
    this.call?.abort();
  }

  private endReader(): void {
    this.listener.onDecodeEnd();
    this.reader?.onEnd();
  }
}

function passHeld(gate: DecodeGate): void {
  gate.passHeld();
}

function onRestOver(gate: DecodeGate): void {
  gate.restOver();
}

/** The head of an answer whose length is not the engine's any more. */
function unsized(raw: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (name.toLowerCase() !== 'content-length') out.push(name, raw[i + 1] ?? '');
  }
  return [...out, 'transfer-encoding', 'chunked'];
}
