import { Client, type buildConnector } from 'undici';
import { IdleStack, type StackSlot } from './core/idle-stack';
import { splitZone } from './core/url-host';

/** One connection to an engine and what is known about it. */
export interface PooledClient extends StackSlot {
  readonly client: Client;
  readonly pool: EnginePool;
  /** Requests completed on the present socket; above 0 it may have died while idle. */
  served: number;
  /** The socket exists; false before the connect and after a disconnect. */
  connected: boolean;
  retired: boolean;
}

/** What every pool of a process shares. */
export interface EnginePoolSettings {
  readonly connector: buildConnector.connector;
  /** Milliseconds. */
  readonly idleTimeoutMs: number;
  readonly maxIdle: number;
  /** Live clients of all pools: one socket each. */
  readonly census: { open: number };
  /** The pool holds no client any more. */
  readonly onEmpty: (pool: EnginePool) => void;
}

/** Milliseconds by which a connection is given up before the engine's own keep-alive hint. */
const HINT_MARGIN_MS = 1000;
const MAX_RESPONSE_HEAD_BYTES = 64 * 1024;

/**
 * Connections to one engine. Each carries one request at a time; idle ones lie on a stack, so that
 * finding one costs the same with one open stream as with thousands. There is no upper limit:
 * a queue in here would be invisible to load figures and deadlines.
 */
export class EnginePool {
  /** Path prefix of the base URL, without a trailing slash. */
  readonly prefix: string;
  /** Shared by the clients: each would otherwise parse and keep one of its own. */
  private readonly origin: URL;
  private readonly connector: buildConnector.connector;
  private readonly idle = new IdleStack<PooledClient>();
  private live = 0;
  private closed = false;

  constructor(
    readonly baseUrl: string,
    private readonly settings: EnginePoolSettings,
  ) {
    const { text, zone } = splitZone(baseUrl);
    const url = new URL(text);
    const { connector } = settings;
    // A zone is of this machine alone: the socket needs it, the Host header must not show it.
    this.connector =
      zone === ''
        ? connector
        : (target, callback) => {
            connector({ ...target, hostname: `${target.hostname}${zone}` }, callback);
          };
    this.origin = new URL(url.origin);
    this.prefix = url.pathname.replace(/\/+$/, '');
  }

  get liveCount(): number {
    return this.live;
  }

  get idleCount(): number {
    return this.idle.size;
  }

  /** The most recently used idle connection, else a new one. */
  acquire(fresh: boolean): PooledClient {
    return (fresh ? undefined : this.idle.pop()) ?? this.open();
  }

  /** The exchange is complete; the connection may serve again. */
  release(entry: PooledClient): void {
    entry.served += 1;
    if (entry.retired) return;
    if (this.closed || this.idle.size >= this.settings.maxIdle) this.discard(entry);
    else this.idle.push(entry);
  }

  /** Closes the connection whatever it is doing. */
  discard(entry: PooledClient): void {
    if (entry.retired) return;
    entry.retired = true;
    this.idle.remove(entry);
    this.live -= 1;
    this.settings.census.open -= 1;
    entry.client.destroy(null, ignore);
    if (this.live === 0) this.settings.onEmpty(this);
  }

  /** The engine is gone: idle connections close now, busy ones when their exchange ends. */
  close(): void {
    this.closed = true;
    let entry = this.idle.pop();
    while (entry !== undefined) {
      this.discard(entry);
      entry = this.idle.pop();
    }
    if (this.live === 0) this.settings.onEmpty(this);
  }

  private open(): PooledClient {
    const { idleTimeoutMs } = this.settings;
    const client = new Client(this.origin, {
      connect: this.connector,
      pipelining: 1,
      // Inference has no upper bound we could guess; deadlines are the caller's.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleTimeoutMs,
      // An engine's hint may shorten the idle time, never lengthen it.
      keepAliveMaxTimeout: idleTimeoutMs,
      keepAliveTimeoutThreshold: HINT_MARGIN_MS,
      maxHeaderSize: MAX_RESPONSE_HEAD_BYTES,
    });
    const entry: PooledClient = {
      client,
      pool: this,
      served: 0,
      connected: false,
      retired: false,
      slot: -1,
    };
    client.on('connect', () => {
      entry.connected = true;
      entry.served = 0;
    });
    client.on('disconnect', () => {
      entry.connected = false;
      // While idle nobody else hears of it; a busy one is settled by its exchange.
      if (entry.slot !== -1) this.discard(entry);
    });
    this.live += 1;
    this.settings.census.open += 1;
    return entry;
  }
}

function ignore(): void {
  // The outcome of destroying a connection interests nobody.
}
