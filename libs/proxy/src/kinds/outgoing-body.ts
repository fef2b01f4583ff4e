import { type UpstreamBodySource } from '@smg/upstream';

/** A body as the transport takes it. */
export interface SentBody {
  readonly body: Buffer | null;
  readonly source?: UpstreamBodySource | undefined;
  /** JSON when left out. */
  readonly contentType?: string | undefined;
}

/** What the gateway itself may have to write into a body. */
export interface BodyChanges {
  /** Canonical model, when the client used another name; else the one sent stays. */
  readonly model: string | undefined;
  readonly dpRank: number | undefined;
}

/** The body of a request on its way to an engine. */
export interface OutgoingBody {
  /** Whether it can be sent again, to another worker. */
  readonly isRepeatable: boolean;
  /** Bytes that stand for the prompt where its text is not known. */
  readonly unreadBytes: number;
  sent(changes: BodyChanges): SentBody;
  /** The request is over or answered: lets go of what it holds. */
  release?(): void;
}

/** No body, and none that is still needed. */
export const NO_BODY: OutgoingBody = Object.freeze({
  isRepeatable: true,
  unreadBytes: 0,
  sent: (): SentBody => ({ body: null }),
});
