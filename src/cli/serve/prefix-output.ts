import { type Readable, type Writable } from 'node:stream';
import { LineBuffer } from './line-buffer';

/** There is room again, or there never will be: then an engine must not be stopped by a full pipe. */
const GOING_ON = ['drain', 'error', 'close'] as const;

/**
 * Copies a stream line by line, each behind `prefix`. Reads no faster than `to` takes it, and on when
 * `to` takes nothing any more; resolves at its end.
 */
export function prefixOutput(from: Readable, to: Writable, prefix: string): Promise<void> {
  const buffer = new LineBuffer();
  const write = (lines: readonly string[]): void => {
    if (lines.length === 0) return;
    // One write for all of them: lines of several engines may alternate, never mix.
    if (to.write(lines.map((line) => `${prefix}${line}\n`).join('')) || to.destroyed) return;
    from.pause();
    for (const event of GOING_ON) to.once(event, goOn);
  };
  const goOn = (): void => {
    for (const event of GOING_ON) to.off(event, goOn);
    from.resume();
  };
  from.setEncoding('utf8');
  from.on('data', (text: string) => {
    write(buffer.push(text));
  });
  return new Promise((resolve) => {
    from.on('close', () => {
      write(buffer.end());
      resolve();
    });
    // A pipe that breaks says no more than its end.
    from.on('error', () => undefined);
  });
}
