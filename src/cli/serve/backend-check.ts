import { execFile } from 'node:child_process';
import { type EngineCommand } from './engine-command';
import { ServeError } from './serve-error';

/** Answers in a fraction of a second; a slow disk may take longer. */
const CHECK_MS = 30_000;
/** Exit code of the check below; Python itself ends with 1 or 2. */
const MISSING = 42;
const CHECK = `import importlib.util, sys; sys.exit(0 if importlib.util.find_spec(sys.argv[1]) else ${MISSING})`;

/**
 * Looks whether the Python package of a backend is there, before several engines fail one after the
 * other with a stack trace each. @throws ServeError when it is not.
 */
export async function checkBackend(
  { file, args }: EngineCommand,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const at = args.indexOf('-m');
  const module = at === 0 ? args[1] : undefined;
  const name = module?.split('.', 1)[0];
  if (name === undefined) return;
  const code = await new Promise<unknown>((resolve) => {
    execFile(file, ['-c', CHECK, name], { env, timeout: CHECK_MS }, (error) => {
      resolve(error?.code);
    });
  });
  if (code === 'ENOENT') throw new ServeError(notFound(file));
  // Whatever else went wrong, the engine will say better.
  if (code === MISSING) {
    throw new ServeError(
      `${name} is not installed for the ${file} on the PATH: install it (pip install ${name}), activate its environment, or name the program with --engine-command`,
    );
  }
}

export function notFound(file: string): string {
  return `${file} was not found: install it, put it on the PATH, or name another program with --engine-command`;
}
