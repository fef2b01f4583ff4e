/** What can be in a {@link TicketList}; in one at a time. */
export interface Linked<T extends Linked<T>> {
  list: TicketList<T> | undefined;
  before: T | undefined;
  after: T | undefined;
}

/** A list in order of arrival. Adding, and removing from anywhere, takes the same time at any length. */
export class TicketList<T extends Linked<T>> {
  size = 0;
  first: T | undefined;
  last: T | undefined;

  push(ticket: T): void {
    ticket.list = this;
    ticket.before = this.last;
    ticket.after = undefined;
    if (this.last === undefined) this.first = ticket;
    else this.last.after = ticket;
    this.last = ticket;
    this.size += 1;
  }

  /** The ticket must be in this list. */
  remove(ticket: T): void {
    const { before, after } = ticket;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.last = before;
    else after.before = before;
    ticket.list = undefined;
    ticket.before = undefined;
    ticket.after = undefined;
    this.size -= 1;
  }
}
