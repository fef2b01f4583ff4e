import { type EntryListener, type EntryPass, type EntryRefusal } from '@smg/plugin-api';
import { type EntryLine, EntryTicket, refused, type TicketOwner } from './entry-line';
import { type ClassTable, type PriorityRank, reservedSlots } from './priority-class';
import { Refill } from './refill';
import { Slots } from './slots';
import { TicketList } from './ticket-list';

/** Of so many slots that become free, a request past its starvation threshold gets one before higher classes. */
const PROMOTION_EVERY = 4;
const RANKS: readonly PriorityRank[] = [0, 1, 2, 3];
/** The lowest class first; nobody is stopped for the benefit of the lowest. */
const VICTIMS: readonly PriorityRank[] = [3, 2, 1];

export const PREEMPTED: EntryRefusal = Object.freeze({
  code: 'scheduler_preempted',
  message: 'stopped for a request of a higher priority class; send it again',
  retryAfterSecs: 1,
});
export const CLOSING: EntryRefusal = Object.freeze({
  code: 'service_unavailable',
  message: 'the gateway is shutting down; try again elsewhere',
  retryAfterSecs: 2,
});
const CLOSED = refused(CLOSING);

/** One timer for the whole gate. */
export interface Alarm {
  /** Calls the gate's `wake` at that time, in place of the time set before. */
  set(at: number): void;
  clear(): void;
}

export interface GateParts {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly alarm: Alarm;
  /** The queue while classes do not matter. */
  readonly plain: EntryLine;
  /** Requests in flight while classes do not matter; Infinity is no limit. */
  readonly permits: number;
  /** Permits that come back each second besides, while classes do not matter. */
  readonly refillPerSecond: number;
  /** Queues of the classes, by rank; empty without the priority scheduler. */
  readonly byRank: readonly EntryLine[];
}

/** What the reservations made of a capacity. */
export interface Footing {
  readonly isScheduled: boolean;
  readonly reserved: number;
}

/**
 * Lets requests in, in one of two ways. Plainly: so many at once, the rest in one queue. Or by
 * priority class: each class has a queue and slots reserved for it; a request that has waited for too
 * long comes in past the reservations of others; one of a class that may preempt takes the place
 * of one of a lower class that has sent nothing.
 *
 * Every change ends with everybody inside who can be: while somebody waits in a queue, nobody who comes
 * later to that queue gets in.
 */
export class EntryGate implements TicketOwner {
  readonly slots = new Slots();
  private readonly stoppable = RANKS.map(() => new TicketList<EntryTicket>());
  private classes: ClassTable | undefined;
  private isScheduled = false;
  private isClosed = false;
  private isPumping = false;
  /** When the alarm rings; Infinity while it is not set. */
  private alarmAt = Infinity;
  /** Contested slots since the last one a starved request got. */
  private turns = PROMOTION_EVERY;

  constructor(private readonly parts: GateParts) {
    const { permits } = parts;
    this.slots.holdTogether(permits, this.newRefill());
  }

  enter(rank: PriorityRank, listener: EntryListener): EntryPass {
    const at = this.time();
    if (at >= this.alarmAt) this.advance(at);
    this.slots.refillUntil(at);
    const line = this.lineOf(rank);
    const ticket = new EntryTicket(this, listener, rank, line, at);
    if (line.waiting.size === 0) {
      if (this.slots.isFreeFor(rank)) {
        this.admit(ticket, at, true);
        return ticket;
      }
      // A threshold of 0: nobody of the class waits for what others have reserved and do not use.
      if (line.limits.starvationMs === 0 && this.slots.hasFree) {
        line.meter.promoted();
        this.admit(ticket, at, false);
        return ticket;
      }
      if (this.preemptFor(ticket, at)) return ticket;
    }
    if (line.waiting.size >= line.limits.queueSize) {
      line.meter.refusedFull();
      return line.full;
    }
    if (this.isClosed) return CLOSED;
    line.waiting.push(ticket);
    this.arm(at);
    return ticket;
  }

  leave(ticket: EntryTicket): ReturnType<EntryPass['leave']> {
    const { state, list, line, rank } = ticket;
    if (state === 'over') return undefined;
    ticket.state = 'over';
    list?.remove(ticket);
    if (state === 'waiting') {
      line.meter.cancelled();
      return line.answers.cancelled;
    }
    this.slots.giveBack(rank);
    this.pump();
    return undefined;
  }

  /** The alarm rang. */
  wake(): void {
    this.alarmAt = Infinity;
    this.advance(this.time());
  }

  /**
   * Another capacity, or other classes, from now on. Reservations beyond the capacity cannot be kept:
   * then classes do not matter.
   * @param capacity undefined while it is not known; classes do not matter then either.
   */
  settle(classes: ClassTable | undefined, capacity: number | undefined): Footing {
    const known = classes !== undefined && capacity !== undefined;
    const reserved = known ? RANKS.map((rank) => reservedSlots(classes[rank], capacity)) : [];
    const sum = reserved.reduce((total, slots) => total + slots, 0);
    const isScheduled = known && sum <= capacity;
    this.classes = classes;
    if (isScheduled) this.slots.share(capacity, reserved);
    else if (this.isScheduled) this.slots.holdTogether(this.parts.permits, this.newRefill());
    if (classes !== undefined) this.limitLines(classes);
    if (isScheduled !== this.isScheduled) {
      this.isScheduled = isScheduled;
      this.moveWaiting();
    }
    this.pump();
    return { isScheduled, reserved: sum };
  }

  /** Refuses whoever waits, and whoever would have to from now on. */
  close(): void {
    this.isClosed = true;
    for (const line of this.allLines()) {
      for (let ticket = line.waiting.first; ticket !== undefined; ticket = line.waiting.first) {
        this.refuse(ticket, CLOSING);
      }
    }
    this.dispose();
  }

  /** No timer stays. */
  dispose(): void {
    this.parts.alarm.clear();
    this.alarmAt = Infinity;
  }

  /** Requests that wait, of one class or, without a rank, where classes do not matter. */
  waitingIn(rank?: PriorityRank): number {
    const line = rank === undefined ? this.parts.plain : this.parts.byRank[rank];
    return line?.waiting.size ?? 0;
  }

  /** Requests of a class that may wait. */
  queueSizeOf(rank: PriorityRank): number {
    return this.parts.byRank[rank]?.limits.queueSize ?? 0;
  }

  private advance(at: number): void {
    this.pump(at);
    for (const line of this.allLines()) {
      const { waiting, limits } = line;
      let ticket = waiting.first;
      while (ticket !== undefined && ticket.since + limits.timeoutMs <= at) {
        line.meter.refusedTimeout();
        this.refuse(ticket, line.answers.timeout);
        ticket = waiting.first;
      }
    }
    this.arm(at);
  }

  /** Lets in whoever can be let in. What the callbacks cause is part of the same round. */
  private pump(at = this.time()): void {
    if (this.isPumping) return;
    this.isPumping = true;
    try {
      this.slots.refillUntil(at);
      let ticket = this.nextIn(at);
      while (ticket !== undefined) {
        ticket.listener.onAdmitted();
        ticket = this.nextIn(at);
      }
    } finally {
      this.isPumping = false;
    }
    this.arm(at);
  }

  /** Gives a permit to whose turn it is. @returns undefined when nobody can have one. */
  private nextIn(at: number): EntryTicket | undefined {
    if (!this.isScheduled) {
      const { first } = this.parts.plain.waiting;
      return first === undefined || !this.slots.hasFree ? undefined : this.takeIn(first, at, true);
    }
    const regular = this.firstByClass();
    const starved = this.slots.hasFree ? this.mostStarved(at) : undefined;
    if (starved !== undefined && starved !== regular) {
      const isContested = regular !== undefined && regular.rank < starved.rank;
      if (!isContested || this.turns >= PROMOTION_EVERY - 1) {
        if (isContested) this.turns = 0;
        starved.line.meter.promoted();
        // Who has waited for so long is not stopped again.
        return this.takeIn(starved, at, false);
      }
      this.turns += 1;
    }
    if (regular !== undefined) return this.takeIn(regular, at, true);
    return this.firstThatPreempts(at);
  }

  private firstByClass(): EntryTicket | undefined {
    for (const rank of RANKS) {
      const first = this.parts.byRank[rank]?.waiting.first;
      if (first !== undefined && this.slots.isFreeFor(rank)) return first;
    }
    return undefined;
  }

  /** Of those past the threshold of their class, the one that has been so for the longest. */
  private mostStarved(at: number): EntryTicket | undefined {
    let found: EntryTicket | undefined;
    let foundAt = Infinity;
    for (const { waiting, limits } of this.parts.byRank) {
      const { first } = waiting;
      if (first === undefined) continue;
      const starvedAt = first.since + limits.starvationMs;
      if (starvedAt > at || starvedAt >= foundAt) continue;
      found = first;
      foundAt = starvedAt;
    }
    return found;
  }

  private firstThatPreempts(at: number): EntryTicket | undefined {
    for (const { waiting } of this.parts.byRank) {
      const { first } = waiting;
      if (first !== undefined && this.preemptFor(first, at)) return first;
    }
    return undefined;
  }

  /** Hands the permit of a lower class on to the ticket. @returns false when there is no such permit. */
  private preemptFor(ticket: EntryTicket, at: number): boolean {
    if (!this.isScheduled || this.classes?.[ticket.rank].canPreempt !== true) return false;
    const victim = this.victimOf(ticket.rank);
    if (victim === undefined) return false;
    victim.state = 'over';
    victim.list?.remove(victim);
    this.slots.giveBack(victim.rank);
    this.takeIn(ticket, at, true);
    // It may have come in while classes did not matter.
    (this.parts.byRank[victim.rank] ?? victim.line).meter.preempted(ticket.rank);
    victim.listener.onRefused(PREEMPTED);
    return true;
  }

  /** The last one that came in, of the lowest class that has more than is reserved for it. */
  private victimOf(rank: PriorityRank): EntryTicket | undefined {
    for (const lower of VICTIMS) {
      if (lower <= rank) return undefined;
      const list = this.stoppable[lower];
      if (list === undefined || !this.slots.isBeyondReservation(lower)) continue;
      for (let ticket = list.last; ticket !== undefined; ticket = list.last) {
        if (!ticket.listener.hasAnswered) return ticket;
        // Safe for good: it need not be looked at again.
        list.remove(ticket);
      }
    }
    return undefined;
  }

  private takeIn(ticket: EntryTicket, at: number, isStoppable: boolean): EntryTicket {
    ticket.list?.remove(ticket);
    this.admit(ticket, at, isStoppable);
    return ticket;
  }

  private admit(ticket: EntryTicket, at: number, isStoppable: boolean): void {
    ticket.state = 'admitted';
    this.slots.take(ticket.rank);
    if (isStoppable && this.classes !== undefined) this.stoppable[ticket.rank]?.push(ticket);
    ticket.line.meter.admitted(at - ticket.since);
  }

  private refuse(ticket: EntryTicket, refusal: EntryRefusal): void {
    ticket.state = 'over';
    ticket.list?.remove(ticket);
    ticket.listener.onRefused(refusal);
  }

  private limitLines(classes: ClassTable): void {
    for (const rank of RANKS) {
      const { queueSize, queueTimeoutSecs, starvationThresholdSecs } = classes[rank];
      const line = this.parts.byRank[rank];
      if (line === undefined) continue;
      line.limits = {
        queueSize,
        timeoutMs: queueTimeoutSecs * 1000,
        starvationMs: starvationThresholdSecs * 1000,
      };
    }
  }

  /** Queues change with the way of letting in; who came first stays first. */
  private moveWaiting(): void {
    const tickets: EntryTicket[] = [];
    for (const { waiting } of this.allLines()) {
      for (let ticket = waiting.first; ticket !== undefined; ticket = waiting.first) {
        waiting.remove(ticket);
        tickets.push(ticket);
      }
    }
    tickets.sort((a, b) => a.since - b.since);
    for (const ticket of tickets) {
      ticket.line = this.lineOf(ticket.rank);
      ticket.line.waiting.push(ticket);
    }
  }

  private lineOf(rank: PriorityRank): EntryLine {
    const { plain, byRank } = this.parts;
    return this.isScheduled ? (byRank[rank] ?? plain) : plain;
  }

  private *allLines(): Iterable<EntryLine> {
    yield this.parts.plain;
    yield* this.parts.byRank;
  }

  /** Sets the alarm to the next time at which waiting alone changes something. */
  private arm(at: number): void {
    const { plain, byRank } = this.parts;
    let next = plain.waiting.first === undefined ? Infinity : this.slots.refillAt;
    next = Math.min(next, nextOf(plain, at));
    for (const line of byRank) next = Math.min(next, nextOf(line, at));
    // An alarm that rings too early does no harm; setting it anew for every change would cost.
    if (next >= this.alarmAt) return;
    this.alarmAt = next;
    this.parts.alarm.set(next);
  }

  private newRefill(): Refill | undefined {
    const { refillPerSecond } = this.parts;
    return refillPerSecond > 0 ? new Refill(refillPerSecond, this.time()) : undefined;
  }

  private time(): number {
    return Math.floor(this.parts.now());
  }
}

/** When the first of a line starves or gives up. */
function nextOf({ waiting, limits }: EntryLine, at: number): number {
  const { first } = waiting;
  if (first === undefined) return Infinity;
  const starvedAt = first.since + limits.starvationMs;
  const endsAt = first.since + limits.timeoutMs;
  return starvedAt > at ? Math.min(starvedAt, endsAt) : endsAt;
}
