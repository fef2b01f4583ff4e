import { editChunks, type TranscriptionForm } from './core/transcription-form';
import { type BodyChanges, type OutgoingBody, type SentBody } from './outgoing-body';

/** Hands chunks over one by one and forgets each: an answer may take longer than its audio is needed. */
function* handOver(chunks: Buffer[]): Generator<Buffer> {
  for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk;
}

/** A form, byte for byte the client's but for the model. Transcriptions are not sent twice. */
export class FormBody implements OutgoingBody {
  readonly isRepeatable = false;
  readonly unreadBytes = 0;

  /** @param model the name the client used, trimmed. */
  constructor(
    private readonly form: TranscriptionForm,
    private chunks: Buffer[],
    private readonly size: number,
    private readonly contentType: string,
    private readonly model: string,
  ) {}

  sent({ model }: BodyChanges): SentBody {
    const edits = this.form.editsFor(model ?? this.model);
    const chunks = edits.length === 0 ? this.chunks : editChunks(this.chunks, edits);
    this.chunks = [];
    let length = this.size;
    for (const { from, to, text } of edits) length += Buffer.byteLength(text) - (to - from);
    return {
      body: null,
      source: { length, content: handOver(chunks) },
      contentType: this.contentType,
    };
  }

  release(): void {
    this.chunks = [];
  }
}
