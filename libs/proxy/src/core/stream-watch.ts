const LF = 0x0a;
const CR = 0x0d;
/** Bytes of the first event, and of each line, that are looked at. */
const WINDOW = 256;
const ERROR_EVENT = /^(?:(?::|event:|id:|retry:)[^\n]*\n|\r?\n)*data: ?\{\s*"error"\s*:\s*[{"]/;
const ERROR_STATUS = /"code"\s*:\s*"?([45]\d\d)\b/;
/** How the protocols say that an answer is complete, at the start of a line. */
const TERMINAL =
  /^(?:data: ?\[DONE\]|event: ?(?:message_stop|response\.(?:completed|failed|incomplete))\b|data: ?\{\s*"type"\s*:\s*"(?:message_stop|response\.(?:completed|failed|incomplete))")/;

/** Watches an event stream go by without holding it: enough to tell a whole one from a cut one. */
export class StreamWatch {
  /** Status an error event in first place speaks of; 0 while there is none. */
  errorStatus = 0;
  private sawTerminal = false;
  private first: string | undefined = '';
  private line = '';
  private last = LF;
  private beforeLast = LF;

  /** @param readsLines the end of the connection is the end of the stream: look for the marker. */
  constructor(private readonly readsLines: boolean) {}

  see(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.first !== undefined) this.seeFirst(chunk);
    if (this.readsLines) this.seeLines(chunk);
    for (let i = Math.max(0, chunk.length - 4); i < chunk.length; i += 1) {
      const byte = chunk[i] ?? 0;
      if (byte === CR) continue;
      this.beforeLast = this.last;
      this.last = byte;
    }
  }

  /** An event has begun and its blank line has not been seen. */
  get isInsideEvent(): boolean {
    return this.last !== LF || this.beforeLast !== LF;
  }

  /** The protocol's own last event was seen; meaningful with `readsLines` only. */
  get isComplete(): boolean {
    return this.sawTerminal || TERMINAL.test(this.line);
  }

  private seeFirst(chunk: Buffer): void {
    const seen = (this.first ?? '') + chunk.toString('latin1', 0, WINDOW);
    if (ERROR_EVENT.test(seen)) {
      this.errorStatus = Number(ERROR_STATUS.exec(seen)?.[1] ?? 500);
      this.first = undefined;
    } else {
      this.first = seen.length >= WINDOW || /\n\r?\n/.test(seen) ? undefined : seen;
    }
  }

  private seeLines(chunk: Buffer): void {
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(LF, from);
      const to = end === -1 ? chunk.length : end;
      if (this.line.length < WINDOW) {
        this.line += chunk.toString('latin1', from, Math.min(to, from + WINDOW));
      }
      if (end === -1) return;
      if (!this.sawTerminal) this.sawTerminal = TERMINAL.test(this.line);
      this.line = '';
      from = end + 1;
    }
  }
}

/** The last event of a stream that broke: valid JSON, ended by a blank line, never `[DONE]`. */
export function truncationEvent(isInsideEvent: boolean, requestId: string): string {
  const error = {
    type: 'Bad Gateway',
    code: 'upstream_stream_truncated',
    message: 'the worker stopped before its answer was complete',
    param: null,
    request_id: requestId,
  };
  return `${isInsideEvent ? '\n\n' : ''}data: ${JSON.stringify({ error })}\n\n`;
}
