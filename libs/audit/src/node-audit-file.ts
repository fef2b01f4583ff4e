import { close, constants, fdatasync, fstat, fsync, open, read, type Stats, write } from 'node:fs';
import { dirname } from 'node:path';
import { types } from 'node:util';
import { type AuditFile } from './core/audit-file';

// Bare descriptors: a `FileHandle` that a failed start leaves behind is closed by force, with a warning.

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;
/** Only its owner may read who did what. */
const MODE = 0o600;
const NEWLINE = 0x0a;

/** Opens a file for appending; creates it with mode 0600. @throws Error naming the path. */
export async function openAuditFile(path: string): Promise<AuditFile> {
  let fd: number | undefined;
  try {
    // Non-blocking: opening a named pipe must not wait for its reader.
    fd = await openFd(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK);
    const isTorn = await examine(fd);
    await syncFolder(path);
    return fileOf(fd, isTorn);
  } catch (error) {
    if (fd !== undefined) await closeFd(fd).catch(() => undefined);
    const why = types.isNativeError(error) ? error.message : String(error);
    throw new Error(`--audit-log-file ${JSON.stringify(path)}: ${why}`, { cause: error });
  }
}

function fileOf(fd: number, isTorn: boolean): AuditFile {
  return {
    isTorn,
    append: (bytes) =>
      answer<number>((done) => {
        write(fd, bytes, 0, bytes.length, null, done);
      }),
    sync: () => syncFd(fd),
    close: () => closeFd(fd),
  };
}

/** @returns whether its last line has no end. @throws Error when it is of no use. */
async function examine(fd: number): Promise<boolean> {
  const stats = await answer<Stats>((done) => {
    fstat(fd, done);
  });
  const { size } = stats;
  if (!stats.isFile()) throw new Error('it is not a regular file');
  // A file system that cannot do it is found now, not with the first record.
  await syncFd(fd);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  const count = await answer<number>((done) => {
    read(fd, last, 0, 1, size - 1, done);
  });
  return count === 1 && last[0] !== NEWLINE;
}

/** A new file's name must survive a power cut as well; not every file system can do that. */
async function syncFolder(path: string): Promise<void> {
  try {
    const fd = await openFd(dirname(path), O_RDONLY);
    await completion((done) => {
      fsync(fd, done);
    }).finally(() => closeFd(fd));
  } catch {
    // The records themselves are synced all the same.
  }
}

const openFd = (path: string, flags: number): Promise<number> =>
  answer<number>((done) => {
    open(path, flags, MODE, done);
  });

const syncFd = (fd: number): Promise<void> =>
  completion((done) => {
    fdatasync(fd, done);
  });

const closeFd = (fd: number): Promise<void> =>
  completion((done) => {
    close(fd, done);
  });

function answer<T>(call: (done: (error: Error | null, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => {
      if (error === null) resolve(value);
      else reject(error);
    });
  });
}

function completion(call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => {
      if (error === undefined || error === null) resolve();
      else reject(error);
    });
  });
}
