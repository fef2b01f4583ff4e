import { setMaxListeners } from 'node:events';
import { type RlReply } from './rl.http';

/** Whether the caller of a control call still waits for it. */
export interface CallerPresence {
  /** Fires when the caller's connection closed before it was answered. */
  readonly left: AbortSignal;
  /** Call it when the answer is there. */
  release(): void;
}

/** Watches the caller's connection, so that calls for someone who left are called off. */
export function watchCaller({ raw }: RlReply): CallerPresence {
  const controller = new AbortController();
  // Every call of a fan-out listens, as many as may run at once; Node would take that for a leak.
  setMaxListeners(0, controller.signal);
  const onClose = (): void => {
    if (!raw.writableFinished) controller.abort();
  };
  if (raw.destroyed) onClose();
  raw.once('close', onClose);
  return {
    left: controller.signal,
    release: () => {
      raw.off('close', onClose);
    },
  };
}
