import { parentPort, workerData } from 'node:worker_threads';
import { type HealthListenerData, portOf, serveHealth } from './health-listener.server';

/** Messages of the health thread to the main one. */
export type HealthThreadMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: string };

// Loads nothing of Nest: the thread must start fast and stay small.
const report = (message: HealthThreadMessage): void => {
  parentPort?.postMessage(message);
};

serveHealth(workerData as HealthListenerData).then(
  (server) => {
    report({ kind: 'listening', port: portOf(server) });
  },
  (error: unknown) => {
    report({ kind: 'failed', code: String((error as { code?: unknown }).code ?? error) });
  },
);
