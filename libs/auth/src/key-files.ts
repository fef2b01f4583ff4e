import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type AuthOptions } from './core/auth-options';
import { flagMaterial, type KeyMaterial } from './core/key-material';
import { systemCodeOf } from './core/system-code';
import {
  parseControlLine,
  parseSharedLine,
  parseTenantLine,
  type ParsedLine,
  secretLines,
} from './core/secret-lines';

/** Bytes; ten thousand keys fit. */
const MAX_FILE_BYTES = 1024 * 1024;
const WORLD_READABLE = 0o004;
/** Opening a named pipe must not wait for its writer: later reloads would wait with it. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

type Warn = (message: string) => void;

/** @throws Error with the option, the path and the system's code. */
async function readSecretFile(option: string, path: string, warn: Warn): Promise<string> {
  try {
    const file = await open(path, FLAGS);
    try {
      const status = await file.stat();
      if (!status.isFile()) throw new Error('it is not a regular file');
      if (status.size > MAX_FILE_BYTES)
        throw new Error(`it is larger than ${MAX_FILE_BYTES} bytes`);
      if ((status.mode & WORLD_READABLE) !== 0) {
        warn(`${option}: everyone on this machine can read ${path}: chmod o-r`);
      }
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new Error(`${option}: ${path} cannot be read: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  return systemCodeOf(error) ?? (error instanceof Error ? error.message : 'unknown');
}

interface Entry<T> {
  readonly value: T;
  readonly where: string;
  readonly whose: string;
}

async function entriesOf<T>(
  option: string,
  path: string | undefined,
  parse: (text: string) => ParsedLine<T>,
  warn: Warn,
): Promise<readonly Entry<T>[]> {
  if (path === undefined) return [];
  const lines = secretLines(await readSecretFile(option, path, warn));
  if (lines.length === 0) throw new Error(`${option}: ${path} has no entry`);
  return lines.map(({ number, text }) => {
    const where = `${option}: ${path} line ${number}`;
    const parsed = parse(text);
    if ('problem' in parsed) throw new Error(`${where}: ${parsed.problem}`);
    return { value: parsed.value, where, whose: 'this line' };
  });
}

async function sharedEntries(
  path: string | undefined,
  warn: Warn,
): Promise<readonly Entry<string>[]> {
  const entries = await entriesOf('--api-key-file', path, parseSharedLine, warn);
  if (entries[1] !== undefined)
    throw new Error(`${entries[1].where}: the file holds one key alone`);
  return entries;
}

/** The shared key of a file; for those who need the key itself, such as workers. @throws Error */
export async function readSharedKeyFile(path: string): Promise<string> {
  const [entry] = await sharedEntries(path, () => undefined);
  return entry?.value ?? '';
}

/** All keys: those given as options and those of the files. @throws Error that repeats no key. */
export async function readKeyMaterial(options: AuthOptions, warn: Warn): Promise<KeyMaterial> {
  const given = flagMaterial(options);
  const shared = await sharedEntries(options.apiKeyFile, warn);
  const tenants = await entriesOf(
    '--tenant-api-keys-file',
    options.tenantApiKeysFile,
    parseTenantLine,
    warn,
  );
  const control = await entriesOf(
    '--control-plane-api-keys-file',
    options.controlPlaneApiKeysFile,
    parseControlLine,
    warn,
  );
  const sourced = <T extends object>({ value, where, whose }: Entry<T>) => ({
    ...value,
    where,
    whose,
  });
  return {
    shared: [
      ...given.shared,
      ...shared.map(({ value, where }) => ({ key: value, where, whose: '' })),
    ],
    tenants: [...given.tenants, ...tenants.map(sourced)],
    control: [...given.control, ...control.map(sourced)],
  };
}
