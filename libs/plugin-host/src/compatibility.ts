import { PLUGIN_API_VERSION } from '@smg/plugin-api';
import { satisfiesRange } from './core/semver-range';

/**
 * Refuses a plug-in module built for another plug-in API. A module says what it was built for with
 * `static readonly smgPluginApi = '^1.0.0'`; one that says nothing is taken as it is.
 * @throws Error naming the module, its range and this process's version.
 */
export function assertPluginCompatible(
  moduleClass: { readonly name: string },
  apiVersion: string = PLUGIN_API_VERSION,
): void {
  const range = (moduleClass as { smgPluginApi?: unknown }).smgPluginApi;
  if (range === undefined) return;
  const answer = typeof range === 'string' ? satisfiesRange(apiVersion, range) : undefined;
  if (typeof range !== 'string' || answer === undefined) {
    throw new Error(
      `plug-in ${moduleClass.name}: smgPluginApi ${JSON.stringify(range)} is no version range; write 1.2.3, ^1.2.3, ~1.2.3 or >=1.2.3`,
    );
  }
  if (!answer) {
    throw new Error(
      `plug-in ${moduleClass.name} was built for plug-in API ${range}, but this gateway offers ${apiVersion}`,
    );
  }
}
