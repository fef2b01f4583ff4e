import { type Screen } from './progress-bar';

/** What `smg rl` may see of the outside. */
export interface RlProgram {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Text of a file, or of the standard input for 0. @throws whatever the file system throws. */
  readonly readFile: (path: string | 0) => string;
  readonly stdout: Screen;
  readonly stderr: Screen;
  on(signal: 'SIGHUP' | 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  /** Ends the process at once. */
  exit(code: number): void;
}
