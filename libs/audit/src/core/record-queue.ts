/** A record that waits to be durable. */
interface Waiting {
  readonly line: string;
  readonly bytes: Buffer;
  /** When it came, monotonic milliseconds. */
  readonly at: number;
  /** Tells who waits; undefined once told. */
  settle: ((isDurable: boolean) => void) | undefined;
}

/** Most that may wait. */
export interface QueueBounds {
  readonly records: number;
  readonly bytes: number;
}

/** Records in the order they came, within bounds. */
export class RecordQueue {
  private readonly entries: Waiting[] = [];
  private held = 0;

  constructor(private readonly bounds: QueueBounds) {}

  get length(): number {
    return this.entries.length;
  }

  /** When the first that somebody still waits for came; undefined when there is none. */
  get awaitedSince(): number | undefined {
    return this.entries.find(({ settle }) => settle !== undefined)?.at;
  }

  /** @returns false when there is no room. */
  add(line: string, at: number, settle: ((isDurable: boolean) => void) | undefined): boolean {
    const bytes = Buffer.from(line);
    if (this.entries.length >= this.bounds.records) return false;
    if (this.held + bytes.length > this.bounds.bytes) return false;
    this.entries.push({ line, bytes, at, settle });
    this.held += bytes.length;
    return true;
  }

  /** Bytes of the first `count` records. */
  bytesOf(count: number): Buffer {
    return Buffer.concat(this.entries.slice(0, count).map(({ bytes }) => bytes));
  }

  /** How many records lie wholly within the first `bytes` bytes, and their length. */
  wholeWithin(bytes: number): { readonly count: number; readonly bytes: number } {
    let count = 0;
    let end = 0;
    for (const entry of this.entries) {
      if (end + entry.bytes.length > bytes) break;
      end += entry.bytes.length;
      count += 1;
    }
    return { count, bytes: end };
  }

  /** The first `count` records are durable. */
  done(count: number): void {
    for (const { bytes, settle } of this.entries.splice(0, count)) {
      this.held -= bytes.length;
      settle?.(true);
    }
  }

  /** Those that came at `until` or before are waited for no longer; they stay. @returns how many. */
  giveUpWaiting(until: number): number {
    let count = 0;
    for (const entry of this.entries) {
      if (entry.at > until) break;
      if (entry.settle === undefined) continue;
      entry.settle(false);
      entry.settle = undefined;
      count += 1;
    }
    return count;
  }

  /** Empties it. @returns the lines, in order. */
  abandon(): string[] {
    const lines = this.entries.map(({ line }) => line);
    for (const { settle } of this.entries.splice(0)) settle?.(false);
    this.held = 0;
    return lines;
  }
}
