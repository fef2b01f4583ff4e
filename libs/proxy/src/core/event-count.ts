const LF = 0x0a;
const CR = 0x0d;

/** Counts the events of an event stream, which end with a blank line; keeps none of it. */
export class EventCount {
  private ended = 0;
  /** The line that is not over yet has something in it. */
  private isInLine = false;

  get value(): number {
    return this.ended;
  }

  see(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      if (!this.isInLine && isBlank(chunk, start, end)) this.ended += 1;
      this.isInLine = false;
      start = end + 1;
    }
    if (!isBlank(chunk, start, chunk.length)) this.isInLine = true;
  }
}

/** Nothing, or the carriage return of a line that ends with both. */
function isBlank(bytes: Buffer, start: number, end: number): boolean {
  return start === end || (end - start === 1 && bytes[start] === CR);
}
