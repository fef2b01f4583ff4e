import { joinLine, type PromptLogprobs } from './logprobs';

const LF = 0x0a;
const CR = 0x0d;
/** Bytes of a line that can still be the end marker. */
const MARKER_BYTES = 16;
const DONE = /^data: ?\[DONE\]\r?$/;
const EMPTY = Buffer.alloc(0);
const NEWLINE = Buffer.from('\n');

/** Finds the end marker of a stream at the start of a line, wherever the pieces break. */
export class DoneWatch {
  private line = '';

  /** @returns offset behind the line of the marker; -1 while it has not ended. */
  see(chunk: Buffer): number {
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(LF, from);
      const to = end === -1 ? chunk.length : end;
      if (this.line.length < MARKER_BYTES) {
        this.line += chunk.toString('latin1', from, Math.min(to, from + MARKER_BYTES));
      }
      if (end === -1) return -1;
      const isDone = DONE.test(this.line);
      this.line = '';
      from = end + 1;
      if (isDone) return from;
    }
    return -1;
  }
}

/** The bytes up to `to`, and the blank line that ends the marker's event; anything else is dropped. */
export function upToMarker(chunk: Buffer, to: number): Buffer {
  const blank = chunk[to] === CR && chunk[to + 1] === LF ? 2 : chunk[to] === LF ? 1 : 0;
  if (blank > 0) return chunk.subarray(0, to + blank);
  return Buffer.concat([chunk.subarray(0, to), NEWLINE]);
}

/** Puts the prompt's logprobs into the events of a stream, line by line. */
export class LogprobLines {
  private rest: Buffer[] = [];
  private restBytes = 0;

  /** @param limit bytes of the longest line. */
  constructor(
    private readonly prompt: PromptLogprobs,
    private readonly limit: number,
  ) {}

  /** @returns whole lines; undefined once a line is too long to be held. */
  push(chunk: Buffer): Buffer | undefined {
    const out: Buffer[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      const line = this.take(chunk.subarray(from, end));
      out.push(joinLine(line, this.prompt), NEWLINE);
      from = end + 1;
    }
    if (from < chunk.length) {
      this.rest.push(chunk.subarray(from));
      this.restBytes += chunk.length - from;
    }
    if (this.restBytes > this.limit) return undefined;
    return Buffer.concat(out);
  }

  /** What is left when the stream ends: part of a line, as it came. */
  end(): Buffer {
    return this.take(EMPTY);
  }

  private take(last: Buffer): Buffer {
    if (this.rest.length === 0) return last;
    const line = Buffer.concat([...this.rest, last]);
    this.rest = [];
    this.restBytes = 0;
    return line;
  }
}
