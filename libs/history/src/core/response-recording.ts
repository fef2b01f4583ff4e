import { readJsonMembers } from '@smg/protocol';
import { type AnswerRecording } from '@smg/plugin-api';
import { FinalEvent } from './final-event';

/** An answer that is worth keeping: JSON text of a response object. */
export interface RecordedAnswer {
  readonly id: string;
  readonly status: string | undefined;
  readonly body: string;
}

/** A response in another state will change, and the gateway would not hear of it. */
const FINAL = new Set(['completed', 'failed', 'incomplete', 'cancelled']);

/** Collects one answer of `/v1/responses`, whole or streamed, in bounded memory. */
export class ResponseRecording implements AnswerRecording {
  private chunks: Buffer[] = [];
  private bytes = 0;
  private stream: FinalEvent | undefined;
  private isOver = false;

  /** @param keep gets the answer, when it is one; must not throw. */
  constructor(
    private readonly maxBytes: number,
    private readonly keep: (answer: RecordedAnswer) => void,
  ) {}

  begin(isStream: boolean): void {
    if (isStream) this.stream = new FinalEvent(this.maxBytes);
  }

  see(chunk: Buffer): void {
    if (this.isOver) return;
    if (this.stream === undefined) {
      this.bytes += chunk.length;
      if (this.bytes <= this.maxBytes) this.chunks.push(chunk);
      else this.chunks = [];
      return;
    }
    this.stream.see(chunk);
    // Clients leave once they have read the last event: the end of the stream may never come.
    if (this.stream.data !== undefined) this.finish(responseIn(this.stream.data));
  }

  complete(): void {
    if (this.isOver) return;
    this.stream?.end();
    this.finish(this.stream === undefined ? this.whole() : responseIn(this.stream.data));
  }

  private finish(json: Buffer | undefined): void {
    this.isOver = true;
    this.chunks = [];
    this.stream = undefined;
    const answer = json === undefined ? undefined : readAnswer(json);
    if (answer !== undefined) this.keep(answer);
  }

  private whole(): Buffer | undefined {
    return this.bytes > this.maxBytes ? undefined : Buffer.concat(this.chunks);
  }
}

function responseIn(data: string | undefined): Buffer | undefined {
  if (data === undefined) return undefined;
  const member = readJsonMembers(Buffer.from(data), ['response'])?.get('response');
  return member?.kind === 'object' ? Buffer.from(member.lexeme) : undefined;
}

function readAnswer(json: Buffer): RecordedAnswer | undefined {
  const members = readJsonMembers(json, ['id', 'status']);
  const id = textOf(members?.get('id')?.lexeme);
  const status = textOf(members?.get('status')?.lexeme);
  if (id === undefined || (status !== undefined && !FINAL.has(status))) return undefined;
  return { id, status, body: json.toString('utf8') };
}

function textOf(lexeme: string | undefined): string | undefined {
  const value: unknown = lexeme?.startsWith('"') === true ? JSON.parse(lexeme) : undefined;
  return typeof value === 'string' ? value : undefined;
}
