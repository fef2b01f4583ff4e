import { readRegularFile } from '@smg/plugin-api';

/** @throws Error that names the flag, the file and the reason. */
export function readSettingsFile(flag: string, path: string): string {
  try {
    return readRegularFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`--${flag}: cannot read ${path}: ${code ?? message}`, { cause: error });
  }
}
