import 'reflect-metadata';
import { type DynamicModule, type Type } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { assertPluginCompatible } from './compatibility';
import { resolvePackage } from './resolve-package';

/** What `createGateway({ plugins })` takes. */
export type PluginModule = Type | DynamicModule;

/** Metadata keys `@Module` writes; a module with none of them adds nothing. */
const MODULE_KEYS = ['imports', 'providers', 'controllers', 'exports'] as const;

function isModuleClass(value: unknown): value is Type {
  return (
    typeof value === 'function' && MODULE_KEYS.some((key) => Reflect.hasOwnMetadata(key, value))
  );
}

function isPluginModule(value: unknown): value is PluginModule {
  if (isModuleClass(value)) return true;
  return typeof value === 'object' && value !== null && 'module' in value
    ? typeof value.module === 'function'
    : false;
}

/** The modules behind a default export: one, or an array of them. */
function asModules(value: unknown): readonly PluginModule[] | undefined {
  if (isPluginModule(value)) return [value];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const list: readonly unknown[] = value;
  return list.every(isPluginModule) ? list : undefined;
}

function modulesOf(specifier: string, namespace: object): readonly PluginModule[] {
  const outer = (namespace as { default?: unknown }).default;
  // CommonJS arrives as `default: module.exports`; its own default export, if any, is one deeper.
  const inner =
    typeof outer === 'object' && outer !== null
      ? (outer as { default?: unknown }).default
      : undefined;
  const byDefault = asModules(outer) ?? asModules(inner);
  if (byDefault !== undefined) return byDefault;

  const exported = new Set<Type>();
  for (const scope of [namespace, outer]) {
    if (typeof scope !== 'object' || scope === null) continue;
    for (const value of Object.values(scope)) if (isModuleClass(value)) exported.add(value);
  }
  if (exported.size === 1) return [...exported];
  const names = [...exported].map((module) => module.name).join(', ');
  throw new Error(
    exported.size === 0
      ? `plug-in '${specifier}' exports no class decorated with @Module`
      : `plug-in '${specifier}' exports several modules (${names}); export the one to load as default`,
  );
}

/** For a path that lacks its dot, which would be the name of a package. */
function pathHint(specifier: string, cwd: string): string {
  const isFile = !/^[./]|^file:/.test(specifier) && existsSync(resolve(cwd, specifier));
  return isFile ? `; for the file of that name write './${specifier}'` : '';
}

/** Absolute file of a specifier: a path (from `cwd`), a file URL, or a package name (from `cwd`). */
function locate(specifier: string, cwd: string): string {
  if (specifier.startsWith('file:')) return fileURLToPath(specifier);
  const isPath = specifier.startsWith('.') || isAbsolute(specifier);
  if (!isPath) {
    const own = resolvePackage(specifier, cwd);
    if (own !== undefined) return own;
  }
  return createRequire(resolve(cwd, 'plugin-loader.cjs')).resolve(
    isPath ? resolve(cwd, specifier) : specifier,
  );
}

/**
 * Loads the module classes of one `--plugin`. CommonJS and ES modules both load.
 * @param cwd directory that relative paths and package names are resolved from.
 * @param importModule how a file URL is imported; the real `import()` unless told otherwise.
 * @throws Error naming the specifier: not found, failing on load, no module, several modules, or an
 * incompatible API range.
 */
export async function loadPlugin(
  specifier: string,
  cwd: string,
  importModule: (url: string) => Promise<unknown> = (url) => import(url),
): Promise<readonly PluginModule[]> {
  let file: string;
  try {
    file = locate(specifier, cwd);
  } catch (cause) {
    throw new Error(`plug-in '${specifier}' was not found from ${cwd}${pathHint(specifier, cwd)}`, {
      cause,
    });
  }
  let namespace: unknown;
  try {
    namespace = await importModule(pathToFileURL(file).href);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`plug-in '${specifier}' failed to load: ${why}`, { cause });
  }
  const modules = modulesOf(specifier, Object(namespace) as object);
  for (const module of modules) {
    assertPluginCompatible(typeof module === 'function' ? module : module.module);
  }
  return modules;
}
