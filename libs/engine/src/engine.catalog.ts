import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { ENGINE_ADAPTER, type EngineAdapter, type EngineCatalog } from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';

/** ENGINE_CATALOG: every registered adapter, ours and those of plug-ins, in recognition order. */
@Injectable()
export class CollectedEngineCatalog implements EngineCatalog, OnModuleInit {
  readonly #log = new Logger('engine');
  #adapters: readonly EngineAdapter[] = [];
  #byName: ReadonlyMap<string, EngineAdapter> = new Map();

  constructor(private readonly collector: ExtensionCollector) {}

  onModuleInit(): void {
    const found = [...this.collector.collect(ENGINE_ADAPTER)].sort(
      (a, b) => a.recognition.order - b.recognition.order || (a.name < b.name ? -1 : 1),
    );
    this.#adapters = Object.freeze(found);
    this.#byName = new Map(found.map((adapter) => [adapter.name, adapter]));
    this.#log.log(`engines: ${found.map((adapter) => adapter.name).join(', ')}`);
  }

  all(): readonly EngineAdapter[] {
    return this.#adapters;
  }

  byName(name: string): EngineAdapter | undefined {
    return this.#byName.get(name);
  }
}
