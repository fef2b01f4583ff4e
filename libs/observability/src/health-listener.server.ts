import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { HealthBoard, type ReadinessVerdict } from './core/health-board';
import { probeHandler } from './core/probe-handler';
import { StallWatch } from './core/stall-watch';

/** What the listener is started with; can be sent to a thread. */
export interface HealthListenerData {
  readonly host: string;
  readonly port: number;
  readonly memory: SharedArrayBuffer;
  /** Milliseconds without a heartbeat of the main loop before readiness says so. */
  readonly stallMs: number;
}

const SAMPLE_MS = 1000;
const REQUEST_TIMEOUT_MS = 5000;

/** Listens and answers probes from shared memory; runs in the health thread, and in tests. */
export async function serveHealth(data: HealthListenerData): Promise<Server> {
  const board = new HealthBoard(data.memory);
  const watch = new StallWatch(board.heartbeat, performance.now(), data.stallMs);
  const isStalled = (): boolean => watch.isStalled(board.heartbeat, performance.now());
  const verdict = (): ReadinessVerdict => {
    const read = board.read();
    return isStalled() ? { ...read, reason: read.reason ?? 'event loop stalled' } : read;
  };
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      // Node looks for overdue requests every 30 s unless told otherwise.
      connectionsCheckingInterval: 1000,
    },
    probeHandler(verdict),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(data.port, data.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const sampler = setInterval(isStalled, SAMPLE_MS);
  sampler.unref();
  server.once('close', () => {
    clearInterval(sampler);
  });
  return server;
}

/** Port a server listens on. */
export const portOf = (server: Server): number => (server.address() as AddressInfo).port;
