import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PLUGIN_API_VERSION } from '@smg/plugin-api';

interface PackageInfo {
  readonly name: string;
  readonly version: string;
}

/** The nearest package.json above this file: the source tree and `dist` lie at different depths. */
function readPackageInfo(): PackageInfo {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageInfo;
    } catch (error) {
      if (folder === dirname(folder)) throw error;
    }
  }
}

/** Version of this package. */
export function packageVersion(): string {
  return readPackageInfo().version;
}

/** Texts of `--version` and `--version-verbose`. */
export function programVersions(): { short: string; verbose: string } {
  const { name, version } = readPackageInfo();
  return {
    short: `smg ${version}`,
    verbose: `smg ${version} (${name}; plug-in API ${PLUGIN_API_VERSION}; node ${process.versions.node}; ${process.platform} ${process.arch})`,
  };
}
