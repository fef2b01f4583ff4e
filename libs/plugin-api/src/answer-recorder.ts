import { type Endpoint } from '@smg/protocol';

/** A request whose answer somebody may want to keep. */
export interface RecordedRequest {
  readonly endpoint: Endpoint;
  readonly requestId: string;
  /** `auth:…` of the key that opened the serving plane; undefined where it is open. */
  readonly authenticatedTenant: string | undefined;
  /** The parsed body; it is the recorder's to read until the request ends, never to change. */
  readonly json: Readonly<Record<string, unknown>>;
}

/**
 * One answer on its way to the client. Sees bytes, never holds them back, never throws. An answer that
 * breaks off, or whose client leaves, is begun and not completed.
 */
export interface AnswerRecording {
  /** A worker answers with success, in a body that is not encoded. At most once. */
  begin(isStream: boolean): void;
  see(chunk: Buffer): void;
  /** Every byte was seen, and the answer is whole. Called before the client gets its end. */
  complete(): void;
}

/** Keeps answers of the data plane. Optional token: {@link ANSWER_RECORDER}. */
export interface AnswerRecorder {
  /** Asked once per request, before a worker is chosen; undefined: nothing is kept. Never throws. */
  recordingOf(request: RecordedRequest): AnswerRecording | undefined;
}

/** Service token of {@link AnswerRecorder}; there is a provider only while answers are kept. */
export const ANSWER_RECORDER = 'smg:answer-recorder';
