import { type EntryListener, type EntryPass, type EntryRefusal } from '@smg/plugin-api';
import { type PriorityRank } from './priority-class';
import { type Linked, TicketList } from './ticket-list';

/** Counts what becomes of the requests of one line. */
export interface LineMeter {
  /** @param waitMs 0 for who came in at once. */
  admitted(waitMs: number): void;
  refusedFull(): void;
  refusedTimeout(): void;
  /** The client left before its turn. */
  cancelled(): void;
  /** One of the line was stopped for one of `by`. */
  preempted(by: PriorityRank): void;
  /** One had waited so long that it came in past others. */
  promoted(): void;
}

/** How long, and how many, may wait in a line. */
export interface LineLimits {
  readonly queueSize: number;
  readonly timeoutMs: number;
  /** Infinity where nobody is promoted. */
  readonly starvationMs: number;
}

/** What a line tells those it refuses. */
export interface LineAnswers {
  readonly full: EntryRefusal;
  readonly timeout: EntryRefusal;
  /** Code of who leaves before its turn. */
  readonly cancelled: ReturnType<EntryPass['leave']>;
}

/** One queue: those in it come in in order of arrival. */
export class EntryLine {
  readonly waiting = new TicketList<EntryTicket>();
  /** Given to everybody the full queue refuses. */
  readonly full: EntryPass;

  constructor(
    readonly answers: LineAnswers,
    readonly meter: LineMeter,
    public limits: LineLimits,
  ) {
    this.full = refused(answers.full);
  }
}

/** A pass that holds nothing. */
export function refused(refusal: EntryRefusal): EntryPass {
  return Object.freeze({ refusal, isWaiting: false, leave: () => undefined });
}

/** What a ticket needs of its gate. */
export interface TicketOwner {
  leave(ticket: EntryTicket): ReturnType<EntryPass['leave']>;
}

/** One request, from the gate to its end. */
export class EntryTicket implements EntryPass, Linked<EntryTicket> {
  readonly refusal = undefined;
  state: 'waiting' | 'admitted' | 'over' = 'waiting';
  list: TicketList<EntryTicket> | undefined = undefined;
  before: EntryTicket | undefined = undefined;
  after: EntryTicket | undefined = undefined;

  constructor(
    private readonly owner: TicketOwner,
    readonly listener: EntryListener,
    readonly rank: PriorityRank,
    public line: EntryLine,
    /** Milliseconds; when it came. */
    readonly since: number,
  ) {}

  get isWaiting(): boolean {
    return this.state === 'waiting';
  }

  leave(): ReturnType<EntryPass['leave']> {
    return this.owner.leave(this);
  }
}
