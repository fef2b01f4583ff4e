export { ExtensionCollector, type CollectOptions } from './extension-collector';
export { PluginHostModule } from './plugin-host.module';
export { assertPluginCompatible } from './compatibility';
export { loadPlugin, type PluginModule } from './plugin-loader';
