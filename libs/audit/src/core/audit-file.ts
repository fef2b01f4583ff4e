/** A file that only grows. Operations may reject, and on a dead disk may never settle. */
export interface AuditFile {
  /** When it was opened its last line had no end: a process died while writing it. */
  readonly isTorn: boolean;
  /** Appends some of the bytes. @returns how many. */
  append(bytes: Buffer): Promise<number>;
  /** What was appended survives a power cut. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** @throws Error when it cannot be opened for appending. */
export type OpenAuditFile = (path: string) => Promise<AuditFile>;
