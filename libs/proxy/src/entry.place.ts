import { GatewayError } from '@smg/protocol';
import {
  type AdmissionRequest,
  type EntryControl,
  type EntryListener,
  type EntryPass,
  type EntryRefusal,
} from '@smg/plugin-api';

/** The request a place is for. */
export interface EntryOwner {
  readonly writer: { readonly headSent: boolean };
  /** The request may go on. */
  enters(): void;
  /** It may not, or no longer. */
  turnedAway(error: GatewayError): void;
}

/** One request's place among those in flight, or in the queue before them. */
export class EntryPlace implements EntryListener {
  private pass: EntryPass | undefined;

  constructor(private readonly owner: EntryOwner) {}

  get hasAnswered(): boolean {
    return this.owner.writer.headSent;
  }

  take(entry: EntryControl, request: AdmissionRequest): void {
    this.pass = entry.enter(request, this);
    if (this.pass.refusal !== undefined) this.onRefused(this.pass.refusal);
    else if (!this.pass.isWaiting) this.owner.enters();
  }

  onAdmitted(): void {
    this.owner.enters();
  }

  onRefused({ code, message, retryAfterSecs }: EntryRefusal): void {
    this.owner.turnedAway(new GatewayError(code, message, { retryAfterSecs }));
  }

  /** However the request ended. @returns the code of one that gave up waiting. */
  leave(): ReturnType<EntryPass['leave']> {
    return this.pass?.leave();
  }
}
