import { GatewayError } from '@smg/protocol';
import { type IncomingMessage } from 'node:http';
import { type BodyFailure, type BodyListener, BodyReader } from '../body.reader';
import { boundaryOf } from './core/multipart-head';
import { TranscriptionForm } from './core/transcription-form';
import { FormBody } from './form.body';
import { type Intake, type IntakeListener } from './intake';

/** Takes a transcription form in. A form that is wrong is refused at the byte that shows it. */
export class FormIntake implements Intake, BodyListener {
  private readonly reader: BodyReader;
  private form: TranscriptionForm | undefined;

  /**
   * @param contentType as the client said it.
   * @param limit bytes of the whole form.
   * @param idleMs longest pause of the client; 0 waits for ever.
   */
  constructor(
    private readonly contentType: string | undefined,
    request: IncomingMessage,
    limit: number,
    idleMs: number,
    private readonly listener: IntakeListener,
  ) {
    this.reader = new BodyReader(request, limit, idleMs, this);
  }

  start(): void {
    const boundary = boundaryOf(this.contentType);
    if (boundary === undefined) {
      this.refuse('the body must be multipart/form-data with a boundary');
      return;
    }
    this.form = new TranscriptionForm(boundary);
    this.reader.start();
  }

  cancel(): void {
    this.reader.cancel();
  }

  onChunk(chunk: Buffer): boolean {
    const problem = this.form?.write(chunk);
    if (problem === undefined) return true;
    this.refuse(problem);
    return false;
  }

  onChunks(chunks: Buffer[], size: number): void {
    const { form } = this;
    if (form === undefined) return;
    const result = form.end();
    if (!result.ok) {
      this.refuse(result.problem);
      return;
    }
    const { model, prompt, stream } = result.fields;
    this.listener.onRequest(
      { json: { prompt }, model, namesModel: true, wantsStream: stream },
      new FormBody(form, chunks, size, this.contentType ?? '', model),
    );
  }

  onBodyFailure(failure: BodyFailure): void {
    this.listener.onBodyFailure(failure);
  }

  private refuse(problem: string): void {
    this.listener.onUnreadable(new GatewayError('invalid_request', problem));
  }
}
