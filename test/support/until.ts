import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until `holds` says true. @throws Error naming `what` after `timeoutMs`. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await holds()) return;
    await sleep(10);
  }
  throw new Error(`gave up after ${timeoutMs} ms: ${what}`);
}
