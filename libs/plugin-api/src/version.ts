/**
 * Version of the plug-in API, semantic. A plug-in module may declare the range it was built for:
 * `static readonly smgPluginApi = '^1.0.0'`; a process whose version is outside refuses to start.
 */
export const PLUGIN_API_VERSION = '1.0.0';
