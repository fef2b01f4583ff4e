import { Global, Module } from '@nestjs/common';
import { ENGINE_ADAPTER, ENGINE_CATALOG } from '@smg/plugin-api';
import { PluginHostModule } from '@smg/plugin-host';
import { GenericEngine } from './core/generic.engine';
import { MlxEngine } from './core/mlx.engine';
import { SglangEngine } from './core/sglang.engine';
import { TokenspeedEngine } from './core/tokenspeed.engine';
import { TrtllmEngine } from './core/trtllm.engine';
import { VllmEngine } from './core/vllm.engine';
import { CollectedEngineCatalog } from './engine.catalog';

/** Our engines, registered the way an outsider registers one, and the catalog of all. */
@Global()
@Module({
  imports: [PluginHostModule],
  providers: [
    ...ENGINE_ADAPTER.provide(SglangEngine),
    ...ENGINE_ADAPTER.provide(VllmEngine),
    ...ENGINE_ADAPTER.provide(GenericEngine),
    ...ENGINE_ADAPTER.provide(TrtllmEngine),
    ...ENGINE_ADAPTER.provide(TokenspeedEngine),
    ...ENGINE_ADAPTER.provide(MlxEngine),
    CollectedEngineCatalog,
    { provide: ENGINE_CATALOG, useExisting: CollectedEngineCatalog },
  ],
  exports: [ENGINE_CATALOG],
})
export class EngineModule {}
