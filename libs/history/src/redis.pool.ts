import { Redis } from 'ioredis';
import { describeFault } from './connection-fault';

/** Milliseconds. */
const CONNECT_MS = 5_000;
const COMMAND_MS = 8_000;
const MAX_RECONNECT_DELAY_MS = 2_000;

export interface RedisPoolOptions {
  readonly url: string;
  readonly maxConnections: number;
  /** The number of open connections, whenever it changes. */
  readonly onConnections: (count: number) => void;
  /** A connection broke; it is made anew. */
  readonly onFault: (message: string) => void;
}

interface Slot {
  readonly redis: Redis;
  busy: number;
}

/**
 * Connections to one server: another one is opened while all are busy, up to the limit; then commands
 * queue up on the one with the fewest.
 */
export class RedisPool {
  private readonly slots: Slot[] = [];
  private open = 0;
  private isStarted = false;
  private isClosed = false;
  private lastFault: unknown;

  constructor(private readonly options: RedisPoolOptions) {}

  /** @throws Error when the first connection cannot be had. */
  async start(): Promise<void> {
    const { redis } = this.addSlot();
    try {
      await redis.connect();
      await redis.ping();
      this.isStarted = true;
    } catch (error) {
      this.close();
      throw this.lastFault ?? error;
    }
  }

  async use<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    if (this.isClosed) throw new Error('the connections are closed');
    const slot = this.pick();
    slot.busy += 1;
    try {
      return await work(slot.redis);
    } finally {
      slot.busy -= 1;
    }
  }

  close(): void {
    this.isClosed = true;
    for (const { redis } of this.slots) redis.disconnect();
  }

  private pick(): Slot {
    const [first, ...rest] = this.slots;
    if (first === undefined) return this.addSlot();
    let best = first;
    for (const slot of rest) if (slot.busy < best.busy) best = slot;
    return best.busy > 0 && this.slots.length < this.options.maxConnections ? this.addSlot() : best;
  }

  private addSlot(): Slot {
    const { url, onFault } = this.options;
    const redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: CONNECT_MS,
      commandTimeout: COMMAND_MS,
      // A command waits for one new connection, not for ever.
      maxRetriesPerRequest: 1,
      // Before the start has succeeded, a failure is final.
      retryStrategy: (times) =>
        this.isStarted && !this.isClosed ? Math.min(times * 100, MAX_RECONNECT_DELAY_MS) : null,
      connectionName: 'smg-gateway',
    });
    redis.on('error', (error: unknown) => {
      this.lastFault = error;
      if (this.isStarted) onFault(describeFault(error, url));
    });
    this.count(redis);
    const slot = { redis, busy: 0 };
    this.slots.push(slot);
    return slot;
  }

  private count(redis: Redis): void {
    let isOpen = false;
    const changed = (becomesOpen: boolean): void => {
      if (isOpen === becomesOpen) return;
      isOpen = becomesOpen;
      this.open += isOpen ? 1 : -1;
      this.options.onConnections(this.open);
    };
    redis.on('ready', () => {
      changed(true);
    });
    redis.on('close', () => {
      changed(false);
    });
  }
}
