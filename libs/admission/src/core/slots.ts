import { PRIORITY_CLASSES, type PriorityRank } from './priority-class';
import { type Refill } from './refill';

/**
 * How many requests are in flight, and whether another one of a class may join them. A slot is free for
 * a class while its reservation has room, or while more slots are free than others have reserved and
 * do not use.
 */
export class Slots {
  /** Permits that are out. Equal to the requests in flight, unless time has refilled some. */
  private out = 0;
  private limit = Infinity;
  private refill: Refill | undefined;
  private readonly running = PRIORITY_CLASSES.map(() => 0);
  private reserved: readonly number[] = PRIORITY_CLASSES.map(() => 0);

  /** Requests in flight. */
  get inFlight(): number {
    let sum = 0;
    for (const count of this.running) sum += count;
    return sum;
  }

  /** Requests of a class in flight. */
  inFlightOf(rank: PriorityRank): number {
    return this.running[rank] ?? 0;
  }

  /** Slots altogether; Infinity while nothing limits them. */
  get capacity(): number {
    return this.limit;
  }

  /** Most slots a class could have now: all but what others have reserved and do not use. */
  reachOf(rank: PriorityRank): number {
    return Math.max(this.reserved[rank] ?? 0, this.limit - this.unusedBeside(rank));
  }

  /** One limit for all classes together. @param refill permits that come back with time. */
  holdTogether(limit: number, refill: Refill | undefined): void {
    this.limit = limit;
    this.refill = refill;
    this.reserved = PRIORITY_CLASSES.map(() => 0);
    this.out = this.inFlight;
  }

  /** A limit of which parts are reserved. @param reserved by rank; no more than the limit together. */
  share(limit: number, reserved: readonly number[]): void {
    this.limit = limit;
    this.refill = undefined;
    this.reserved = reserved;
    this.out = this.inFlight;
  }

  /** Whether any slot is free, reserved or not. */
  get hasFree(): boolean {
    return this.out < this.limit;
  }

  isFreeFor(rank: PriorityRank): boolean {
    const free = this.limit - this.out;
    if (free <= 0) return false;
    if (this.inFlightOf(rank) < (this.reserved[rank] ?? 0)) return true;
    return free > this.unusedBeside(rank);
  }

  /** Whether the class has more than its reservation: what is reserved is nobody else's to take. */
  isBeyondReservation(rank: PriorityRank): boolean {
    return this.inFlightOf(rank) > (this.reserved[rank] ?? 0);
  }

  take(rank: PriorityRank): void {
    this.out += 1;
    this.running[rank] = this.inFlightOf(rank) + 1;
  }

  giveBack(rank: PriorityRank): void {
    // Time may have refilled what this request had taken.
    if (this.out > 0) this.out -= 1;
    this.running[rank] = this.inFlightOf(rank) - 1;
  }

  /** @param at whole milliseconds. */
  refillUntil(at: number): void {
    if (this.refill !== undefined) this.out -= this.refill.since(at, this.out);
  }

  /** When time alone frees the next slot; Infinity when it never does. */
  get refillAt(): number {
    return this.refill === undefined ? Infinity : this.refill.nextAt;
  }

  private unusedBeside(rank: PriorityRank): number {
    const { running, reserved } = this;
    let unused = 0;
    for (let other = 0; other < reserved.length; other += 1) {
      if (other === rank) continue;
      const rest = (reserved[other] ?? 0) - (running[other] ?? 0);
      if (rest > 0) unused += rest;
    }
    return unused;
  }
}
