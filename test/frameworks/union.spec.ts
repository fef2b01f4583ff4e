import { type Answer } from '../support/http';
import { startFleet, type Fleet } from './support/fleet';

// Every route that some framework calls on its router, asked the way they ask.

type Row = readonly [method: string, path: string, body?: unknown];

const CHAT = { model: 'mock-model', messages: [{ role: 'user', content: 'x' }] };

/** Of any engine. */
const COMMON: readonly Row[] = [
  ['GET', '/workers'],
  ['GET', '/list_workers'],
  ['POST', '/v1/chat/completions', CHAT],
  ['POST', '/v1/completions', { model: 'mock-model', prompt: 'x' }],
  ['POST', '/v1/responses', { model: 'mock-model', input: 'x' }],
  ['POST', '/finish_session?session_id=x'],
  ['GET', '/health'],
  ['GET', '/liveness'],
  ['GET', '/readiness'],
  ['GET', '/v1/models'],
  ['GET', '/v1/loads?include=core'],
  ['GET', '/get_loads'],
  ['GET', '/v1/rl/workers'],
];

const SGLANG: readonly Row[] = [
  ['POST', '/generate', { input_ids: [1], rid: 'r', return_routed_experts: true }],
  ['POST', '/abort_request', { rid: 'r' }],
  ['POST', '/abort_request', { rid: 'r', prefix: true }],
  ['POST', '/abort_request', { abort_all: true }],
  ['GET', '/flush_cache'],
  ['POST', '/flush_cache'],
  ['GET', '/get_server_info'],
  ['GET', '/get_model_info'],
  ['GET', '/server_info'],
  ['GET', '/model_info'],
  ['GET', '/health_generate'],
  ['POST', '/pause_generation', {}],
  ['POST', '/update_weights_from_disk', { model_path: '/w', weight_version: '1' }],
  ['POST', '/update_weights_from_tensor', { weight_version: '1' }],
  ['POST', '/update_weights_from_distributed', { weight_version: '1' }],
  ['POST', '/update_weights_from_ipc', { weight_version: '1' }],
  ['POST', '/update_weight_version', { new_version: '1', abort_all_requests: false }],
  ['POST', '/init_weights_update_group', {}],
  ['POST', '/destroy_weights_update_group', {}],
  ['POST', '/release_memory_occupation', { tags: ['kv_cache'] }],
  ['POST', '/resume_memory_occupation', { tags: ['kv_cache'] }],
  ['POST', '/continue_generation', {}],
  ['POST', '/load_lora_adapter', { lora_name: 'a', lora_path: '/a' }],
  ['POST', '/unload_lora_adapter', { lora_name: 'a' }],
];

const TOKENS = { model: 'mock-model', token_ids: [1], sampling_params: {}, cache_salt: '1' };

const VLLM: readonly Row[] = [
  ['POST', '/inference/v1/generate', TOKENS],
  ['POST', '/skyrl/v1/generate', TOKENS],
  ['POST', '/v1/chat/completions/render', CHAT],
  ['POST', '/tokenize', { model: 'mock-model', prompt: 'x' }],
  ['POST', '/detokenize', { model: 'mock-model', tokens: [1] }],
  ['POST', '/pause?mode=keep&clear_cache=false'],
  ['GET', '/is_paused'],
  ['POST', '/sleep?level=1'],
  ['GET', '/is_sleeping'],
  ['POST', '/wake_up?tags=weights&tags=kv_cache'],
  ['POST', '/init_weight_transfer_engine', { init_info: {} }],
  ['POST', '/start_weight_update', {}],
  ['POST', '/update_weights', { update_info: {} }],
  ['POST', '/finish_weight_update', { weight_version: '1' }],
  ['POST', '/collective_rpc', { method: 'reload_weights', kwargs: {} }],
  ['POST', '/reset_prefix_cache?reset_running_requests=true'],
  ['POST', '/abort_requests', {}],
  ['GET', '/get_world_size?include_dp=true'],
  ['GET', '/weight_info'],
  ['POST', '/resume'],
  ['POST', '/v1/load_lora_adapter', { lora_name: 'a', lora_path: '/a' }],
  ['POST', '/v1/unload_lora_adapter', { lora_name: 'a' }],
];

/** In words of Ray Serve's LLM routes; nobody who calls them calls a router. */
const ELSEWHERE: readonly Row[] = [
  ['POST', '/wakeup', { model: 'mock-model', options: {} }],
  ['POST', '/engine/pause_generation', {}],
];

describe.each([
  ['sglang', [...COMMON, ...SGLANG]],
  ['vllm', [...COMMON, ...VLLM]],
] as const)('routes that frameworks of %s call', (kind, rows) => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet({
      kind,
      isKnown: true,
      config: { rl: { enabled: true, routerVerbs: true } },
    });
  });
  afterAll(() => fleet.stop());

  const ask = ([method, path, body]: Row): Promise<Answer> =>
    fleet.trainer.ask(path, { method, ...(body === undefined ? {} : { body }) });

  it.each(rows.map((row) => [`${row[0]} ${row[1]}`, row] as const))('%s', async (_, row) => {
    const answer = await ask(row);
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
  });

  it.each(ELSEWHERE.map((row) => [`${row[0]} ${row[1]}`, row] as const))(
    '%s is not there, as any path that is unknown',
    async (_, row) => {
      const answer = await ask(row);
      expect([answer.status, answer.text]).toEqual([404, '']);
    },
  );

  it('after all of that every engine serves', async () => {
    const engines = await fleet.rl.rows();
    expect(engines.map(({ control, weight_version }) => [control, weight_version])).toEqual([
      ['active', '1'],
      ['active', '1'],
    ]);
  });
});
