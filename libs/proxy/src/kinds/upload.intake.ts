import { type IncomingMessage } from 'node:http';
import { type RequestFacts } from '../core/request-facts';
import { type Intake, type IntakeListener } from './intake';
import { type OutgoingBody, type SentBody } from './outgoing-body';
import { UploadStream } from './upload.stream';

/** An upload that is passed on as it comes: unread, unchanged, once. */
class UploadBody implements OutgoingBody {
  readonly isRepeatable = false;

  constructor(
    private readonly content: UploadStream,
    readonly unreadBytes: number,
  ) {}

  sent(): SentBody {
    return { body: null, source: { length: undefined, content: this.content } };
  }

  release(): void {
    this.content.destroy();
  }
}

/** What is known of an upload before it is read. */
export interface Upload {
  /** What the one model of the fleet is called. */
  readonly model: string;
  readonly bytes: number;
  /** Longest wait for the client; 0 waits for ever. */
  readonly stallMs: number;
}

/** Lets a large body through. Nothing of it is read before a worker is chosen. */
export class UploadIntake implements Intake {
  private readonly stream: UploadStream;

  constructor(
    private readonly upload: Upload,
    request: IncomingMessage,
    private readonly listener: IntakeListener,
  ) {
    this.stream = new UploadStream(request, upload.stallMs, (failure) => {
      listener.onBodyFailure(failure);
    });
  }

  start(): void {
    const { model, bytes } = this.upload;
    const facts: RequestFacts = { json: {}, model, namesModel: false, wantsStream: false };
    this.listener.onRequest(facts, new UploadBody(this.stream, bytes));
  }

  cancel(): void {
    this.stream.destroy();
  }
}
