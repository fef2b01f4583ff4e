import { type AskEngine } from '@smg/plugin-api';
import { describeEngineAdapter } from '@smg/testing';
import { GenericEngine } from './generic.engine';
import { SglangEngine } from './sglang.engine';
import { VllmEngine } from './vllm.engine';

const SERVER_INFO = {
  model_path: '/models/q',
  served_model_name: 'q',
  tp_size: 2,
  dp_size: 1,
  load_balance_method: null,
  version: '0.5.9',
  is_embedding: false,
  max_total_tokens: 90_000,
  weight_version: 'default',
  internal_states: [{}],
};
const MODEL_INFO = {
  model_path: '/models/other',
  tokenizer_path: '/models/q',
  is_generation: true,
  has_image_understanding: false,
  architectures: ['QForCausalLM'],
};
const MODELS = { data: [{ id: 'listed', root: '/models/root', max_model_len: 4096 }] };

describeEngineAdapter('sglang', () => new SglangEngine(), { '/server_info': SERVER_INFO });
describeEngineAdapter('vllm', () => new VllmEngine(), { '/v1/models': MODELS });
describeEngineAdapter('generic', () => new GenericEngine(), { '/v1/models': MODELS });

function engine(answers: Readonly<Record<string, unknown>>): { ask: AskEngine; asked: string[] } {
  const asked: string[] = [];
  const ask: AskEngine = (path) => {
    asked.push(path);
    const json = answers[path];
    return json instanceof Error
      ? Promise.reject(json)
      : Promise.resolve({ status: json === undefined ? 404 : 200, json });
  };
  return { ask, asked };
}

describe('SGLang discovery', () => {
  it('reads server, model and list; the first to name a label keeps it', async () => {
    const { ask } = engine({
      '/server_info': SERVER_INFO,
      '/model_info': MODEL_INFO,
      '/v1/models': MODELS,
    });
    expect(await new SglangEngine().discover(ask)).toEqual({
      labels: {
        model_path: '/models/q',
        served_model_name: 'q',
        tp_size: '2',
        dp_size: '1',
        version: '0.5.9',
        is_embedding: 'false',
        max_total_tokens: '90000',
        weight_version: 'default',
        tokenizer_path: '/models/q',
        is_generation: 'true',
        has_image_understanding: 'false',
      },
      modelType: ['chat', 'completions', 'responses', 'generate', 'tools'],
      architectures: ['QForCausalLM'],
      // max_model_len comes before max_total_tokens, whichever answer had it.
      contextLength: 4096,
    });
  });

  it('asks the older spellings only after a 404', async () => {
    const old = engine({ '/get_server_info': SERVER_INFO, '/get_model_info': MODEL_INFO });
    const facts = await new SglangEngine().discover(old.ask);
    expect(facts.labels).toMatchObject({ version: '0.5.9', tokenizer_path: '/models/q' });
    const current = engine({ '/server_info': SERVER_INFO, '/model_info': MODEL_INFO });
    await new SglangEngine().discover(current.ask);
    expect(current.asked).not.toContain('/get_server_info');
  });

  it('keeps what it learned when another question fails', async () => {
    const { ask } = engine({ '/server_info': new Error('reset'), '/v1/models': MODELS });
    expect((await new SglangEngine().discover(ask)).labels).toEqual({
      served_model_name: 'listed',
      model_path: '/models/root',
    });
  });

  it.each([
    [{ is_embedding: true }, {}, ['embeddings']],
    [{}, { is_generation: false }, ['embeddings']],
    [{}, { has_image_understanding: true }, expect.arrayContaining(['chat', 'vision'])],
  ])('tells capabilities from %j and %j', async (server, model, expected) => {
    const { ask } = engine({ '/server_info': server, '/model_info': model });
    expect((await new SglangEngine().discover(ask)).modelType).toEqual(expected);
  });
});

describe('vLLM discovery', () => {
  it('reads the model list and the version, and asks nothing else', async () => {
    const { ask, asked } = engine({ '/v1/models': MODELS, '/version': { version: '0.11.0' } });
    const facts = await new VllmEngine().discover(ask);
    expect(facts.labels).toEqual({
      served_model_name: 'listed',
      model_path: '/models/root',
      version: '0.11.0',
    });
    expect(facts.contextLength).toBe(4096);
    expect(asked).toEqual(['/v1/models', '/version']);
  });
});
