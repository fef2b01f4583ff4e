import { Module, type OnModuleInit } from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { assertPluginCompatible } from './compatibility';
import { ExtensionCollector } from './extension-collector';

/** Provides the {@link ExtensionCollector}, and checks every loaded module's declared API range. */
@Module({
  imports: [DiscoveryModule],
  providers: [ExtensionCollector],
  exports: [ExtensionCollector],
})
export class PluginHostModule implements OnModuleInit {
  constructor(private readonly modules: ModulesContainer) {}

  onModuleInit(): void {
    for (const module of this.modules.values()) assertPluginCompatible(module.metatype);
  }
}
