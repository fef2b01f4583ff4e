import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Conditions under which a plug-in is imported, as Node would for `import()`. */
const CONDITIONS: ReadonlySet<string> = new Set(['node', 'import', 'module-sync', 'default']);

function target(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports;
  if (typeof exports !== 'object' || exports === null) return undefined;
  const entries: readonly (readonly [string, unknown])[] = Object.entries(exports);
  for (const [key, value] of entries) {
    if (key !== '.' && !CONDITIONS.has(key)) continue;
    const found = target(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * File that `import 'name'` would load in a module at `from`. `require.resolve` cannot say it for
 * packages that export only an `import` condition, and `import.meta.resolve` is not for CommonJS.
 * @returns undefined when the package is not found or describes its entry in another way.
 */
export function resolvePackage(name: string, from: string): string | undefined {
  for (let directory = resolve(from); ; directory = dirname(directory)) {
    const home = join(directory, 'node_modules', name);
    const manifest = join(home, 'package.json');
    if (existsSync(manifest)) {
      const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports?: unknown };
      const entry = target(exports);
      return entry === undefined ? undefined : join(home, entry);
    }
    if (dirname(directory) === directory) return undefined;
  }
}
