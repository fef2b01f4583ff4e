import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Bytes; certificates, keys and limits are far smaller. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Text of a settings file, for the start and for a {@link Reloadable}. Reading a named pipe would hold up
 * the whole process until somebody writes into it, and a device need never end: only regular files
 * of at most 4 MiB are read.
 * @throws Error with the system's code, or whose message says what the file is.
 */
export function readRegularFile(path: string): string {
  // Without O_NONBLOCK, opening a pipe is what waits.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw new Error('not a regular file');
    if (status.size > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
