import { type RecordedRequest } from './recorded-request';

/** How an answer is cut off. `reset` sends RST, `fin` half-closes, `hang` sends nothing more. */
export type CutKind = 'reset' | 'fin' | 'hang';

/** A cut and where it happens. */
export interface Cut {
  readonly how: CutKind;
  /**
   * `accept`: as the connection is made; `request-head`: before the body is read; `request`: after
   * it; `head`: after the response head; a number: after so many body bytes.
   */
  readonly at: 'accept' | 'request-head' | 'request' | 'head' | number;
  /** Wait before the cut, so that what was sent arrives first; default 5. */
  readonly delayMs?: number;
}

/** One piece of a body; `delayMs` is waited before it is sent. */
export type Chunk = string | Buffer | { readonly data: string | Buffer; readonly delayMs?: number };

/**
 * What an engine does instead of its normal answer, or on top of it. With `status`, `body`, `chunks`
 * or `rawHead` the answer is scripted; without, the normal answer is given, with the delays, extra
 * headers and the cut applied to it.
 */
export interface Behaviour {
  /** Exact path without query; every path when left out. */
  readonly route?: string;
  /** Further condition. */
  readonly when?: (request: RecordedRequest) => boolean;
  /** How often it applies; default without end. */
  readonly times?: number;
  readonly status?: number;
  /** Added to (scripted: makes up) the head. A flat list keeps case, order and repeats. */
  readonly headers?: readonly string[] | Readonly<Record<string, string>>;
  /** Text or bytes as they are, anything else as JSON. Default for a status alone: an engine error. */
  readonly body?: unknown;
  /** Sent one by one, each in a write of its own. Wins over `body`. */
  readonly chunks?: readonly Chunk[];
  /** How a scripted body is framed; default `length` for `body`, `chunked` for `chunks`. */
  readonly framing?: 'length' | 'chunked' | 'close';
  /** Bytes sent instead of a head, status line and blank line included; the connection then closes. */
  readonly rawHead?: string | Buffer;
  /** Before anything is sent. */
  readonly delayMs?: number;
  /** Between head and body; scripted answers only. */
  readonly delayBodyMs?: number;
  readonly cut?: Cut;
}

/** Whether the behaviour replaces the engine's own answer. */
export function isScripted(behaviour: Behaviour): boolean {
  return (
    behaviour.status !== undefined ||
    behaviour.body !== undefined ||
    behaviour.chunks !== undefined ||
    behaviour.rawHead !== undefined
  );
}

/** The behaviours of one engine; the latest one that matches wins. */
export class BehaviourScript {
  private entries: { readonly behaviour: Behaviour; left: number }[] = [];

  /** @returns a function that takes the behaviour back. */
  add(behaviour: Behaviour): () => void {
    const entry = { behaviour, left: behaviour.times ?? Infinity };
    this.entries.unshift(entry);
    return () => {
      this.entries = this.entries.filter((other) => other !== entry);
    };
  }

  clear(): void {
    this.entries = [];
  }

  /** Takes one use of a behaviour that cuts connections as they are made. */
  takeForConnection(): Behaviour | undefined {
    return this.take((behaviour) => behaviour.cut?.at === 'accept');
  }

  takeForRequest(request: RecordedRequest): Behaviour | undefined {
    return this.take(
      (behaviour) =>
        behaviour.cut?.at !== 'accept' &&
        (behaviour.route === undefined || behaviour.route === request.route) &&
        (behaviour.when?.(request) ?? true),
    );
  }

  private take(matches: (behaviour: Behaviour) => boolean): Behaviour | undefined {
    const entry = this.entries.find(({ behaviour, left }) => left > 0 && matches(behaviour));
    if (entry === undefined) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.entries = this.entries.filter((other) => other !== entry);
    return entry.behaviour;
  }
}
