import { type ErrorCode } from '@smg/protocol';

/** What is known of a data-plane request when its credentials have been accepted. */
export interface AdmissionRequest {
  /** `auth:…` of the key that opened the serving plane; undefined where it is open. */
  readonly authenticatedTenant: string | undefined;
  /** Address of the client's socket. */
  readonly peer: string | undefined;
  /** @param name lower case. */
  header(name: string): string | undefined;
}

/** A request that asks for its share of a tenant's budget. */
export interface TenantCharge {
  readonly tenant: string;
  /** Canonical model name. */
  readonly model: string;
  /** Tokens the request may use: an estimate of its prompt plus what it may generate. An integer. */
  readonly tokens: number;
}

/** Whether a tenant's budget allows a request. */
export type ChargeOutcome =
  | {
      readonly allowed: true;
      /** Corrects the estimate once the engine has reported its usage. This or `refund`, once. */
      settle(tokens: number): void;
      /** Gives everything back: no engine has worked on the request. */
      refund(): void;
    }
  | {
      readonly allowed: false;
      readonly message: string;
      /** Seconds until enough budget is there; undefined when the request can never fit. */
      readonly retryAfterSecs: number | undefined;
    };

/** Decides what may enter the data plane. Optional token: {@link ADMISSION}. */
export interface Admission {
  /** Who is charged: `auth:<tenant>`, `header:<value>`, `ip:<address>` or `anonymous`. */
  tenantOf(request: AdmissionRequest): string;
  /** Takes the budget when there is enough. Synchronous, no I/O. */
  charge(request: TenantCharge): ChargeOutcome;
}

/** Service token of {@link Admission}; there is a provider only while something limits requests. */
export const ADMISSION = 'smg:admission';

/** Why a request is not let in, or no longer. */
export interface EntryRefusal {
  readonly code: Extract<
    ErrorCode,
    | 'admission_queue_full'
    | 'admission_queue_timeout'
    | 'scheduler_queue_full'
    | 'scheduler_queue_timeout'
    | 'scheduler_preempted'
    | 'service_unavailable'
  >;
  readonly message: string;
  readonly retryAfterSecs: number;
}

/** A request that wants in. It is told by callbacks, none of which may throw. */
export interface EntryListener {
  /** Whether a byte of an answer has been sent to the client: from then on its permit is safe. */
  readonly hasAnswered: boolean;
  /** The wait is over: the request has a permit. Never called from inside `enter`. */
  onAdmitted(): void;
  /**
   * The wait was in vain, or the permit was taken for a more urgent request: what the request does at
   * an engine must end now. Never called from inside the `enter` of the same request.
   */
  onRefused(refusal: EntryRefusal): void;
}

/** A request's place: in the queue, or in flight. */
export interface EntryPass {
  /** Refused at once: nothing is held, and no callback follows. */
  readonly refusal: EntryRefusal | undefined;
  /** No permit yet: `onAdmitted` or `onRefused` follows, unless the request leaves before. */
  readonly isWaiting: boolean;
  /**
   * The request is over, however: gives up its place in the queue, or its permit. Further calls do nothing.
   * @returns the code of a request that gave up a place in the queue of the priority scheduler.
   */
  leave(): 'scheduler_client_cancelled' | undefined;
}

/** Decides how many requests are in flight. Optional token: {@link ENTRY_CONTROL}. */
export interface EntryControl {
  /** Asked once for each request, before its body is read. Synchronous, no I/O. */
  enter(request: AdmissionRequest, listener: EntryListener): EntryPass;
  /** The process ends: whoever waits is refused now, and nobody waits from here on. */
  close(): void;
}

/** Service token of {@link EntryControl}; there is a provider only while requests in flight are limited. */
export const ENTRY_CONTROL = 'smg:entry-control';
