import { rl } from '../../../src/cli/rl/rl.command';

export interface RlEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RlOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Called at every write to stderr; may send a signal. */
  readonly onError?: (
    text: string,
    signal: (name: 'SIGHUP' | 'SIGINT' | 'SIGTERM') => void,
  ) => void;
}

/** Runs `smg rl` in this process. */
export async function runRl(argv: readonly string[], options: RlOptions = {}): Promise<RlEnd> {
  let stdout = '';
  let stderr = '';
  const listeners = new Map<string, () => void>();
  const code = await rl(argv, {
    env: options.env ?? {},
    stdout: { write: (text) => (stdout += text) },
    stderr: {
      write: (text) => {
        stderr += text;
        options.onError?.(text, (name) => listeners.get(name)?.());
      },
    },
    on: (name, listener) => listeners.set(name, listener),
    exit: () => undefined,
  });
  return { code, stdout, stderr };
}
