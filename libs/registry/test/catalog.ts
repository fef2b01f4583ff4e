import { type EngineAdapter, type EngineCatalog } from '@smg/plugin-api';

/** For tests of this lib: a catalog of plain engines, without the lib that knows real ones. */
export function testCatalog(): EngineCatalog {
  const engine = (name: string, recognition: EngineAdapter['recognition']): EngineAdapter => ({
    name,
    recognition,
    discover: async (ask) => {
      const { status, json } = await ask('/server_info');
      if (status !== 200) throw new Error('no metadata');
      return { labels: json as Record<string, string>, modelType: ['chat'], contextLength: 4096 };
    },
  });
  const adapters = [
    engine('vllm', { ownedBy: ['vllm'], path: '/version', order: 10 }),
    engine('sglang', { ownedBy: ['sglang'], path: '/server_info', order: 20, fallback: 'silent' }),
    engine('generic', { ownedBy: [], order: 99, fallback: 'answers' }),
  ];
  return { all: () => adapters, byName: (name) => adapters.find((it) => it.name === name) };
}
