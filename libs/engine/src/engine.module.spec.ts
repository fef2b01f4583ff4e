import { Global, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  ENGINE_ADAPTER,
  ENGINE_CATALOG,
  type EngineAdapter,
  type EngineCatalog,
} from '@smg/plugin-api';
import { EngineModule } from './engine.module';

class AcmeEngine implements EngineAdapter {
  readonly name = 'acme';
  readonly recognition = { ownedBy: ['acme'], order: 5 };

  discover() {
    return Promise.resolve({ labels: {} });
  }
}

@Global()
@Module({ providers: ENGINE_ADAPTER.provide(AcmeEngine) })
class AcmePlugin {}

describe('EngineModule', () => {
  it("collects ours and an outsider's in recognition order", async () => {
    const module = await Test.createTestingModule({
      imports: [EngineModule, AcmePlugin],
    }).compile();
    module.useLogger(false);
    await module.init();
    const catalog = module.get<EngineCatalog>(ENGINE_CATALOG);
    expect(catalog.all().map((adapter) => adapter.name)).toEqual([
      'acme',
      'vllm',
      'sglang',
      'generic',
      'trtllm',
      'tokenspeed',
      'mlx',
    ]);
    expect(catalog.byName('sglang')?.name).toBe('sglang');
    expect(catalog.byName('nonesuch')).toBeUndefined();
    await module.close();
  });
});
