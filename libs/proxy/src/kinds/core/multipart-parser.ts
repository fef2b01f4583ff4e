import { type PartHead, readPartHead } from './multipart-head';

/** Hears the parts of a form. Offsets count from the start of the body. */
export interface PartSink {
  /** @param headAt where the head of the part begins. @param at where its content begins. */
  onPart(head: PartHead, headAt: number, at: number): void;
  /** Part of the content; the Buffer is not copied. */
  onPartData(bytes: Buffer): void;
  /** @param at behind the last byte of the content. */
  onPartEnd(at: number): void;
}

const MAX_PARTS = 64;
const MAX_HEAD_BYTES = 8 * 1024;
const CRLF = Buffer.from('\r\n');
const BLANK_LINE = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

type State = 'start' | 'delimited' | 'head' | 'content' | 'end';

/**
 * Reads multipart/form-data as it comes and holds no more than a part's head. Strict, because the engine
 * reads the same bytes with a parser of its own: nothing before the first boundary or after the last,
 * no bare line feeds, no padding.
 */
export class MultipartParser {
  private readonly delimiter: Buffer;
  private state: State = 'start';
  private pending: Buffer = NOTHING;
  /** Offset of `pending` in the body. */
  private base = 0;
  private parts = 0;
  private problem: string | undefined;

  constructor(
    boundary: string,
    private readonly sink: PartSink,
  ) {
    this.delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /** @returns what is wrong with the form; then it must not be written to again. */
  write(chunk: Buffer): string | undefined {
    let bytes: Buffer = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    let used = this.step(bytes);
    while (used >= 0 && this.problem === undefined) {
      bytes = bytes.subarray(used);
      this.base += used;
      used = this.step(bytes);
    }
    this.pending = bytes;
    return this.problem;
  }

  /** The body is over. @returns what is wrong with the form. */
  end(): string | undefined {
    if (this.problem !== undefined) return this.problem;
    if (this.state !== 'end') return 'the form ends before its last boundary';
    const rest = this.pending.toString('latin1');
    return rest === '' || rest === '\r\n' ? undefined : 'bytes follow the last boundary';
  }

  /** @returns bytes used; -1 when more are needed. */
  private step(bytes: Buffer): number {
    switch (this.state) {
      case 'start':
        return this.start(bytes);
      case 'delimited':
        return this.delimited(bytes);
      case 'head':
        return this.head(bytes);
      case 'content':
        return this.content(bytes);
      case 'end':
        return bytes.length > CRLF.length ? this.fail('bytes follow the last boundary') : -1;
    }
  }

  private start(bytes: Buffer): number {
    // The first boundary has no line before it.
    const first = this.delimiter.subarray(CRLF.length);
    const common = Math.min(bytes.length, first.length);
    if (bytes.compare(first, 0, common, 0, common) !== 0) {
      return this.fail('the form does not begin with its boundary');
    }
    if (bytes.length < first.length) return -1;
    this.state = 'delimited';
    return first.length;
  }

  private delimited(bytes: Buffer): number {
    if (bytes.length < 2) return -1;
    const after = bytes.toString('latin1', 0, 2);
    if (after === '--') this.state = 'end';
    else if (after === '\r\n') this.state = 'head';
    else return this.fail('a boundary is followed by something else');
    return 2;
  }

  private head(bytes: Buffer): number {
    const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(BLANK_LINE);
    if (end === -1) {
      return bytes.length >= MAX_HEAD_BYTES ? this.fail('the head of a part is too long') : -1;
    }
    this.parts += 1;
    if (this.parts > MAX_PARTS) return this.fail(`the form has more than ${MAX_PARTS} parts`);
    const result = readPartHead(bytes.toString('latin1', 0, end));
    if (!result.ok) return this.fail(result.problem);
    this.state = 'content';
    const used = end + BLANK_LINE.length;
    this.sink.onPart(result.head, this.base, this.base + used);
    return used;
  }

  private content(bytes: Buffer): number {
    const at = bytes.indexOf(this.delimiter);
    if (at !== -1) {
      if (at > 0) this.sink.onPartData(bytes.subarray(0, at));
      this.sink.onPartEnd(this.base + at);
      this.state = 'delimited';
      return at + this.delimiter.length;
    }
    // The last bytes may be the beginning of a delimiter.
    const sure = bytes.length - this.delimiter.length + 1;
    if (sure <= 0) return -1;
    this.sink.onPartData(bytes.subarray(0, sure));
    return sure;
  }

  private fail(problem: string): number {
    this.problem = problem;
    return -1;
  }
}
