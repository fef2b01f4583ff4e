import { MultipartParser, type PartSink } from './multipart-parser';
import { type PartHead } from './multipart-head';

/** A place in the body, and what stands there instead. */
export interface FormEdit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** What the gateway reads in a transcription form; everything else is the engine's. */
export interface TranscriptionFields {
  readonly model: string;
  readonly prompt: string | undefined;
  readonly stream: boolean;
}

export type FormResult =
  | { readonly ok: true; readonly fields: TranscriptionFields }
  | { readonly ok: false; readonly problem: string };

/** Bytes of a text the gateway reads. */
const MAX_TEXT_BYTES = 64 * 1024;
const ONCE: ReadonlySet<string> = new Set(['file', 'model', 'prompt', 'stream']);
const TRUE: ReadonlySet<string> = new Set(['true', 'True', 'TRUE', '1']);
const FALSE: ReadonlySet<string> = new Set(['false', 'False', 'FALSE', '0']);
const DEFAULT_FILE_NAME = 'audio';

interface TextPart {
  readonly from: number;
  to: number;
  readonly chunks: Buffer[];
}

/** Reads a transcription form chunk by chunk, and knows where its model is written. */
export class TranscriptionForm implements PartSink {
  private readonly parser: MultipartParser;
  private readonly texts = new Map<string, TextPart>();
  private current: TextPart | undefined;
  private isFile = false;
  private fileBytes = 0;
  private hasFile = false;
  private textBytes = 0;
  private problem: string | undefined;
  private readonly edits: FormEdit[] = [];

  constructor(boundary: string) {
    this.parser = new MultipartParser(boundary, this);
  }

  /** @returns what is wrong with the form; then it must not be written to again. */
  write(chunk: Buffer): string | undefined {
    const malformed = this.parser.write(chunk);
    return this.problem ?? malformed;
  }

  /** The form is complete. */
  end(): FormResult {
    const problem = this.problem ?? this.parser.end() ?? this.missing();
    if (problem !== undefined) return { ok: false, problem };
    const flag = this.textOf('stream')?.trim() ?? '0';
    if (!TRUE.has(flag) && !FALSE.has(flag)) {
      return { ok: false, problem: 'stream must be true or false' };
    }
    const model = this.textOf('model')?.trim() ?? '';
    return {
      ok: true,
      fields: { model, prompt: this.textOf('prompt'), stream: TRUE.has(flag) },
    };
  }

  /** What must be changed so that the form names `model`; in order. */
  editsFor(model: string): readonly FormEdit[] {
    const part = this.texts.get('model');
    if (part === undefined || this.textOf('model') === model) return this.edits;
    const edits = [...this.edits, { from: part.from, to: part.to, text: model }];
    return edits.sort((a, b) => a.from - b.from);
  }

  onPart(head: PartHead, headAt: number, at: number): void {
    const { name } = head;
    this.current = undefined;
    this.isFile = name === 'file';
    if (this.texts.has(name) || (this.isFile && this.hasFile)) {
      this.problem ??= `the form has more than one ${name}`;
      return;
    }
    if (this.isFile) {
      this.hasFile = true;
      const end = headAt + head.dispositionEnd;
      // Without a name engines would take it for text.
      if (!head.hasFileName) {
        this.edits.push({ from: end, to: end, text: `; filename="${DEFAULT_FILE_NAME}"` });
      }
    } else if (ONCE.has(name)) {
      this.current = { from: at, to: at, chunks: [] };
      this.texts.set(name, this.current);
    }
  }

  onPartData(bytes: Buffer): void {
    if (this.isFile) this.fileBytes += bytes.length;
    if (this.current === undefined) return;
    this.textBytes += bytes.length;
    if (this.textBytes > MAX_TEXT_BYTES) this.problem ??= 'a text of the form is too long';
    else this.current.chunks.push(Buffer.from(bytes));
  }

  onPartEnd(at: number): void {
    if (this.current !== undefined) this.current.to = at;
  }

  private missing(): string | undefined {
    if (!this.hasFile) return 'the form has no file';
    if (this.fileBytes === 0) return 'the file is empty';
    const model = this.textOf('model');
    if (model === undefined) return 'the form has no model';
    return model.trim() === '' ? 'the model is empty' : undefined;
  }

  private textOf(name: string): string | undefined {
    const part = this.texts.get(name);
    return part === undefined ? undefined : Buffer.concat(part.chunks).toString('utf8');
  }
}

/** Applies edits to a body in chunks; what is not edited is not copied. */
export function editChunks(chunks: readonly Buffer[], edits: readonly FormEdit[]): Buffer[] {
  const out: Buffer[] = [];
  let base = 0;
  let next = 0;
  let skipTo = 0;
  for (const chunk of chunks) {
    let at = Math.max(0, skipTo - base);
    const end = base + chunk.length;
    for (let edit = edits[next]; edit !== undefined && edit.from < end; edit = edits[next]) {
      out.push(chunk.subarray(at, edit.from - base), Buffer.from(edit.text));
      skipTo = edit.to;
      at = skipTo - base;
      next += 1;
    }
    if (at < chunk.length) out.push(chunk.subarray(at));
    base = end;
  }
  return out.filter((chunk) => chunk.length > 0);
}
