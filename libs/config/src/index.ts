export {
  parseCommandLine,
  type CommandLine,
  type CommandLineIo,
  type ProgramVersions,
} from './parse-command-line';
export { parseServeLine, workerUrlOf, type ServeLine } from './parse-serve-line';
export { type ServeSettings, SERVE_OPTIONS } from './core/serve/serve.options';
export { renderServeHelp } from './core/serve/render-serve-help';
export { loadConfig } from './load-config';
export { type BuildOptions } from './core/build-config';
export { ConfigError } from './core/config-error';
export { type GatewayConfig, type PartialGatewayConfig } from './core/gateway-config';
export { type ModelAlias, type TenantApiKey } from './core/kinds/pairs';
export { legEndpoints, type LegEndpoint } from './core/leg-endpoints';
export { printConfig } from './core/print-config';
export { renderConfigurationDocs } from './core/render-docs';
export { renderHelp } from './core/render-help';
export { OPTION_TABLE } from './core/option-table';
export { type AnyOption } from './core/option';
