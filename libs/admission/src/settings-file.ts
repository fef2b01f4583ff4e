import { readFileSync } from 'node:fs';

/** @throws Error that names the flag, the file and the reason. */
export function readSettingsFile(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new Error(`--${flag}: cannot read ${path}: ${code}`, { cause: error });
  }
}
