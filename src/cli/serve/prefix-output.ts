import { type Readable, type Writable } from 'node:stream';
import { LineBuffer } from './line-buffer';

/** Copies a stream line by line, each behind `prefix`. Reads no faster than `to` takes it; resolves at its end. */
export function prefixOutput(from: Readable, to: Writable, prefix: string): Promise<void> {
  const buffer = new LineBuffer();
  const write = (lines: readonly string[]): void => {
    if (lines.length === 0) return;
    // One write for all of them: lines of several engines may alternate, never mix.
    if (to.write(lines.map((line) => `${prefix}${line}\n`).join(''))) return;
    from.pause();
    to.once('drain', () => {
      from.resume();
    });
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
