import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { WORKER_EVENTS, type WorkerEvent, type WorkerEvents } from '@smg/plugin-api';
import { EnginePool, type EnginePoolSettings } from './engine.pool';
import { UPSTREAM_OPTIONS, type UpstreamOptions } from './upstream.options';
import { WorkerConnector } from './worker.connector';

/** Longest delay a Node timer can hold: "never". */
const NEVER_MS = 2 ** 31 - 1;
const DEFAULT_MAX_IDLE = 500;

/**
 * One {@link EnginePool} per engine base URL, made on first use and dropped when its last connection
 * is gone, so that URLs that come and go leave nothing behind. Removing or replacing a worker closes
 * its pool; other ranks of the same engine simply get a new one.
 */
@Injectable()
export class UpstreamPool implements OnModuleInit, OnModuleDestroy {
  private readonly pools = new Map<string, EnginePool>();
  private readonly census = { open: 0 };
  private readonly settings: EnginePoolSettings;
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(UPSTREAM_OPTIONS) options: UpstreamOptions,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    connector: WorkerConnector,
  ) {
    this.settings = {
      // One for all: TLS sessions are resumed, and nothing is built per connection.
      connector: connector.connect,
      idleTimeoutMs:
        options.poolIdleTimeoutSecs > 0 ? options.poolIdleTimeoutSecs * 1000 : NEVER_MS,
      maxIdle: options.maxIdlePerEngine ?? DEFAULT_MAX_IDLE,
      census: this.census,
      onEmpty: (pool) => {
        if (this.pools.get(pool.baseUrl) === pool) this.pools.delete(pool.baseUrl);
      },
    };
  }

  onModuleInit(): void {
    this.unsubscribe = this.events.subscribe((event) => {
      this.onWorkerEvent(event);
    });
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
    for (const pool of [...this.pools.values()]) pool.close();
    this.pools.clear();
  }

  /** Connections open or being opened. */
  get openConnections(): number {
    return this.census.open;
  }

  /** Engines with at least one connection. */
  get engineCount(): number {
    return this.pools.size;
  }

  /** @throws TypeError when `baseUrl` is no URL. */
  of(baseUrl: string): EnginePool {
    let pool = this.pools.get(baseUrl);
    if (pool === undefined) {
      pool = new EnginePool(baseUrl, this.settings);
      this.pools.set(baseUrl, pool);
    }
    return pool;
  }

  private onWorkerEvent(event: WorkerEvent): void {
    if (event.kind !== 'removed' && event.kind !== 'replaced') return;
    const pool = this.pools.get(event.worker.baseUrl);
    if (pool === undefined) return;
    this.pools.delete(event.worker.baseUrl);
    pool.close();
  }
}
