import { readFileSync } from 'node:fs';
import { type Server } from 'node:http';

/** Files a process holds beside sockets, and room to answer with a 503 and to be scraped. */
const MIN_RESERVE = 48;
const RESERVE_SHARE = 0.05;

/**
 * Keeps the process away from its limit of open files. Past it, connects to engines would fail one by
 * one and look like engine faults; so new requests are refused while there is still room to say so.
 */
export class ConnectionBudget {
  private clients = 0;
  private readonly usable: number;

  /**
   * @param limit soft limit of open files; Infinity for none.
   * @param upstream sockets to engines, now.
   */
  constructor(
    private readonly limit: number,
    private readonly upstream: () => number,
  ) {
    this.usable = limit - Math.max(MIN_RESERVE, Math.ceil(limit * RESERVE_SHARE));
  }

  /** Counts the connections of a server, and lets none in that could not even be answered. */
  watch(server: Server): void {
    if (Number.isFinite(this.limit)) server.maxConnections = Math.max(1, Math.floor(this.usable));
    server.on('connection', (socket) => {
      this.clients += 1;
      socket.once('close', () => {
        this.clients -= 1;
      });
    });
  }

  /** A further request would need a socket that may not be there. */
  get isSpent(): boolean {
    return this.clients + this.upstream() >= this.usable;
  }
}

/** Soft limit of open files of this process; Infinity when there is none or it is unknown. */
export function openFileLimit(): number {
  try {
    const line = /^Max open files\s+(\d+|unlimited)/m.exec(
      readFileSync('/proc/self/limits', 'utf8'),
    );
    if (line !== null) return line[1] === 'unlimited' ? Infinity : Number(line[1]);
  } catch {
    // Not Linux: ask Node.
  }
  const report = process.report.getReport() as unknown as {
    readonly userLimits?: Readonly<Record<string, { readonly soft?: unknown }>>;
  };
  const soft = report.userLimits?.['open_files']?.soft;
  return typeof soft === 'number' ? soft : Infinity;
}
