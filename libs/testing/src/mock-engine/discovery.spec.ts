import { SglangEngine, VllmEngine } from '@smg/engine';
import { type AskEngine } from '@smg/plugin-api';
import { describeEngineAdapter } from '../contracts/engine-adapter.contract';
import { send } from './http-client';
import { MockEngine } from './mock-engine';

const asking =
  (engine: MockEngine): AskEngine =>
  async (path) => {
    const { status, text } = await send(engine.url + path);
    try {
      return { status, json: JSON.parse(text) as unknown };
    } catch {
      return { status, json: undefined };
    }
  };

describeEngineAdapter('SglangEngine', () => new SglangEngine());
describeEngineAdapter('VllmEngine', () => new VllmEngine());

describe('a mock engine under discovery', () => {
  it.each([
    ['sglang' as const, new SglangEngine()],
    ['vllm' as const, new VllmEngine()],
  ])('%s tells its adapter what a real one would', async (kind, adapter) => {
    const engine = new MockEngine({ kind, model: '/models/m', servedModelName: 'm' });
    await engine.start();
    const { labels, contextLength } = await adapter.discover(asking(engine));
    expect(labels).toMatchObject({ served_model_name: 'm', model_path: '/models/m' });
    expect(labels['version']).toMatch(/^\d+\.\d+/);
    expect(contextLength).toBe(32_768);
    const owner = (await send(`${engine.url}/v1/models`)).json().data[0].owned_by;
    expect(adapter.recognition.ownedBy).toContain(owner);
    await engine.stop();
  });
});
