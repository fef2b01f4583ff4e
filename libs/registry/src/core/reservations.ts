import { type WorkerSpecWire } from '@smg/protocol';
import { type WorkerAddress } from './worker-url';

/** An id given out for a URL that is not registered yet. */
export interface Reservation {
  readonly id: string;
  readonly spec: WorkerSpecWire;
  readonly address: WorkerAddress;
  /** The registration failed; kept so that its reason can be read for a while. */
  hasFailed: boolean;
}

/** Ids of registrations under way: one per URL. */
export class Reservations {
  readonly #byKey = new Map<string, Reservation>();
  readonly #byId = new Map<string, Reservation>();

  byKey(key: string): Reservation | undefined {
    return this.#byKey.get(key);
  }

  byId(id: string): Reservation | undefined {
    return this.#byId.get(id);
  }

  hold(reservation: Reservation): void {
    this.release(reservation.address.key);
    this.#byKey.set(reservation.address.key, reservation);
    this.#byId.set(reservation.id, reservation);
  }

  release(key: string): void {
    const held = this.#byKey.get(key);
    if (held === undefined) return;
    this.#byKey.delete(key);
    this.#byId.delete(held.id);
  }
}
