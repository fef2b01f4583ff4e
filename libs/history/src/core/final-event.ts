const LF = 0x0a;
const CR = 0x0d;
/** Bytes at either end of a data line in which an event without a name says what it is. */
const WINDOW = 200;
const FINAL_NAME = /^event: ?response\.(?:completed|failed|incomplete)\s*$/;
const FINAL_TYPE = /"type"\s*:\s*"response\.(?:completed|failed|incomplete)"/;

/**
 * Watches an event stream of `/v1/responses` go by for its last event, which holds the whole answer.
 * Holds one line at a time, and of no more than `maxBytes`.
 */
export class FinalEvent {
  private line: Buffer[] = [];
  private lineBytes = 0;
  /** `undefined`: the event has no name. */
  private isNamedFinal: boolean | undefined;
  private found: string | undefined;

  constructor(private readonly maxBytes: number) {}

  see(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(LF, from);
      this.hold(chunk.subarray(from, end === -1 ? undefined : end));
      if (end === -1) return;
      this.endLine();
      from = end + 1;
    }
  }

  /** Data of the last event, as it was sent; undefined while its line has not ended. */
  get data(): string | undefined {
    return this.found;
  }

  /** The stream is over, though perhaps without the end of its last line. */
  end(): void {
    this.endLine();
  }

  private hold(part: Buffer): void {
    if (part.length === 0) return;
    this.lineBytes += part.length;
    if (this.lineBytes <= this.maxBytes) this.line.push(part);
    else this.line = [];
  }

  private endLine(): void {
    const { line, lineBytes } = this;
    this.line = [];
    this.lineBytes = 0;
    if (lineBytes > this.maxBytes) return;
    const [only] = line;
    this.read(line.length === 1 && only !== undefined ? only : Buffer.concat(line));
  }

  private read(line: Buffer): void {
    if (line.length === 0 || (line.length === 1 && line[0] === CR)) {
      this.isNamedFinal = undefined;
      return;
    }
    const head = line.toString('latin1', 0, WINDOW);
    if (head.startsWith('event:')) this.isNamedFinal = FINAL_NAME.test(head);
    else if (head.startsWith('data:') && (this.isNamedFinal ?? this.saysFinal(line, head))) {
      this.found = line.toString('utf8', 'data:'.length);
    }
  }

  private saysFinal(line: Buffer, head: string): boolean {
    if (FINAL_TYPE.test(head)) return true;
    return FINAL_TYPE.test(line.toString('latin1', Math.max(0, line.length - WINDOW)));
  }
}
