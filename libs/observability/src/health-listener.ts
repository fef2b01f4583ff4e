import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type HealthListenerData, portOf, serveHealth } from './health-listener.server';
import { type HealthThreadMessage } from './health-listener.thread';
import { listenError } from './listen-error';

/** What {@link startHealthListener} takes. */
export interface HealthListenerOptions {
  readonly port: number;
  /** Default 0.0.0.0. */
  readonly host?: string | undefined;
  /** Memory of a HealthBoard that the main loop writes. */
  readonly memory: SharedArrayBuffer;
  /** Default 10 s. */
  readonly stallMs?: number | undefined;
  /** The listener died after it had started; the process goes on without it. */
  readonly onFailure?: (error: Error) => void;
}

/** A running listener. */
export interface HealthListener {
  readonly port: number;
  /** False where only TypeScript sources exist: it then shares the main loop. */
  readonly isThreaded: boolean;
  close(): Promise<void>;
}

const STALL_MS = 10_000;
/** Exists in a build; the sources have only its `.ts`. */
const THREAD_ENTRY = join(__dirname, 'health-listener.thread.js');
/** Megabytes of heap the thread may use; it serves three fixed routes. */
const THREAD_HEAP_MB = 64;

/**
 * Starts `--health-check-port`: probes answered by a thread of its own, however busy the main loop
 * is. The thread does not keep the process alive.
 * @throws Error naming the flag when the port cannot be taken.
 */
export async function startHealthListener(options: HealthListenerOptions): Promise<HealthListener> {
  const data: HealthListenerData = {
    host: options.host ?? '0.0.0.0',
    port: options.port,
    memory: options.memory,
    stallMs: options.stallMs ?? STALL_MS,
  };
  try {
    if (!existsSync(THREAD_ENTRY)) return await listenHere(data);
    return await listenInThread(data, options.onFailure ?? ignore);
  } catch (error) {
    throw listenError('--health-check-port', data.host, data.port, error);
  }
}

async function listenHere(data: HealthListenerData): Promise<HealthListener> {
  const server = await serveHealth(data);
  server.unref();
  return {
    port: portOf(server),
    isThreaded: false,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function listenInThread(
  data: HealthListenerData,
  onFailure: (error: Error) => void,
): Promise<HealthListener> {
  const worker = new Worker(THREAD_ENTRY, {
    workerData: data,
    name: 'smg-health',
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
  });
  try {
    const port = await new Promise<number>((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', (message: HealthThreadMessage) => {
        if (message.kind === 'listening') resolve(message.port);
        else reject(Object.assign(new Error(message.code), { code: message.code }));
      });
    });
    worker.removeAllListeners('error');
    // Without a listener, a thread that dies would take the process with it.
    worker.on('error', onFailure);
    worker.unref();
    return {
      port,
      isThreaded: true,
      close: async () => {
        await worker.terminate();
      },
    };
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

function ignore(): void {
  // Nobody asked to be told.
}
