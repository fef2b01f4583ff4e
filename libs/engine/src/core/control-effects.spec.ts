import { type EngineAdapter, type ControlEffect } from '@smg/plugin-api';
import { SglangEngine } from './sglang.engine';
import { TokenspeedEngine } from './tokenspeed.engine';
import { VllmEngine } from './vllm.engine';

function effects(engine: EngineAdapter, target: string, body = ''): readonly ControlEffect[] {
  const [path = '', query = ''] = target.split('?');
  return engine.effectsOf?.({ path, query, body: Buffer.from(body) }) ?? [];
}

const sglang = new SglangEngine();
const vllm = new VllmEngine();
const tokenspeed = new TokenspeedEngine();
const version = (text: string): ControlEffect[] => [{ kind: 'version', version: text }];
const unusable = (found: string): ControlEffect[] => [{ kind: 'unusable_version', found }];

const REFITS = [
  'update_weights_from_disk',
  'update_weights_from_tensor',
  'update_weights_from_distributed',
  'update_weights_from_ipc',
];

describe.each([
  ['sglang', sglang],
  ['tokenspeed', tokenspeed],
])('control calls of %s', (_name, engine) => {
  it.each([
    ['pause_generation', { kind: 'pause' }],
    ['continue_generation', { kind: 'resume' }],
    ['release_memory_occupation', { kind: 'release', tags: [] }],
    ['resume_memory_occupation', { kind: 'restore', tags: [] }],
  ])('%s, whatever its body', (path, effect) => {
    for (const body of ['', '{}', '{"mode":"retract"}', '{"tags":null}', '{"tags":[]}', 'x']) {
      expect(effects(engine, path, body)).toEqual([effect]);
    }
  });

  it.each([
    ['{"tags":["weights"]}', ['weights']],
    ['{"tags":["cuda_graph","kv_cache","kv_cache"]}', ['kv_cache', 'cuda_graph']],
    ['{"tags":["weights","optimizer",7]}', ['weights']],
    ['{"tags":"kv_cache"}', ['kv_cache']],
  ])('memory tags of %s', (body, tags) => {
    expect(effects(engine, 'release_memory_occupation', body)).toEqual([{ kind: 'release', tags }]);
    expect(effects(engine, 'resume_memory_occupation', body)).toEqual([{ kind: 'restore', tags }]);
  });

  it.each(['{"tags":["\\q"]}', '{"tags":["a\u0001"]}', '{"tags":["\\u12"]}'])(
    'tags that are no JSON, %j, name none',
    (body) => {
      expect(effects(engine, 'release_memory_occupation', body)).toEqual([
        { kind: 'release', tags: [] },
      ]);
    },
  );

  it('a call that names only unknown tags changes nothing', () => {
    expect(effects(engine, 'release_memory_occupation', '{"tags":["optimizer"]}')).toEqual([]);
  });

  it.each(REFITS)('%s carries weight_version', (path) => {
    expect(effects(engine, path, '{"model_path":"/m","weight_version":"42"}')).toEqual(
      version('42'),
    );
    expect(effects(engine, path, '{"new_version":"42"}')).toEqual([]);
    expect(effects(engine, path, '')).toEqual([]);
  });

  it('update_weight_version carries new_version', () => {
    expect(effects(engine, 'update_weight_version', '{"new_version":7}')).toEqual(version('7'));
    expect(effects(engine, 'update_weight_version', '{"weight_version":"7"}')).toEqual([]);
  });

  it.each([
    'flush_cache',
    'abort_request',
    'init_weights_update_group',
    'destroy_weights_update_group',
    'update_weights_from_mooncake',
    'server_info',
    'health',
    'v1/pause_generation',
    'pause_generation/x',
    'PAUSE_GENERATION',
  ])('%s changes nothing', (path) => {
    expect(effects(engine, path, '{"weight_version":"9","new_version":"9"}')).toEqual([]);
  });
});

describe('a version field', () => {
  it.each<[string, ControlEffect[]]>([
    ['{"weight_version":"step-7"}', version('step-7')],
    ['{"weight_version":" 7 "}', version(' 7 ')],
    ['{"weight_version":""}', version('')],
    ['{"weight_version":7}', version('7')],
    ['{"weight_version":7.0}', version('7.0')],
    ['{"weight_version":1e3}', version('1e3')],
    ['{"weight_version":-1}', version('-1')],
    ['{"weight_version":18446744073709551615}', version('18446744073709551615')],
    ['{"weight_version":null}', []],
    ['{}', []],
    ['{"weight_version":true}', unusable('boolean')],
    ['{"weight_version":["7"]}', unusable('array')],
    ['{"weight_version":{"v":"7"}}', unusable('object')],
    ['{"weight_version":"7","weight_version":"8"}', []],
    ['{"weight_version":"7","new_version":1,"new_version":2}', []],
    ['[{"weight_version":"7"}]', []],
    ['{"weight_version":"7"', []],
    ['not json', []],
    ['{"inner":{"weight_version":"7"}}', []],
    ['{"weight\\u005fversion":"7"}', version('7')],
  ])('%s', (body, expected) => {
    expect(effects(sglang, 'update_weights_from_disk', body)).toEqual(expected);
  });
});

it('a refit body is scanned once, however many engines and adapters ask', () => {
  const body = Buffer.from(`{"tensors":[${'1,'.repeat(500_000)}1],"weight_version":"7"}`);
  const call = { path: 'update_weights_from_tensor', query: '', body };
  const ask = (): number => {
    const startedAt = performance.now();
    expect(sglang.effectsOf(call)).toEqual(version('7'));
    expect(tokenspeed.effectsOf(call)).toEqual(version('7'));
    return performance.now() - startedAt;
  };
  const first = ask();
  let again = 0;
  for (let engine = 0; engine < 20; engine++) again += ask();
  expect(again).toBeLessThan(first * 5);
});

describe('control calls of vllm', () => {
  const both = ['weights', 'kv_cache'];

  it.each<[string, ControlEffect[]]>([
    ['pause', [{ kind: 'pause' }]],
    ['pause?mode=keep', [{ kind: 'pause' }]],
    ['resume', [{ kind: 'resume' }]],
    ['sleep', [{ kind: 'release', tags: ['weights', 'kv_cache'] }]],
    ['sleep?level=1', [{ kind: 'release', tags: ['weights', 'kv_cache'] }]],
    ['sleep?level=2&mode=abort', [{ kind: 'release', tags: ['weights', 'kv_cache'] }]],
    ['sleep?level=0', [{ kind: 'pause' }]],
    ['sleep?level=1&level=0', [{ kind: 'pause' }]],
    ['sleep?level=zero', [{ kind: 'release', tags: ['weights', 'kv_cache'] }]],
    ['wake_up', [{ kind: 'restore', tags: [] }]],
    ['wake_up?tags=', [{ kind: 'restore', tags: [] }]],
    ['wake_up?tags=weights', [{ kind: 'restore', tags: ['weights'] }]],
    ['wake_up?tags=kv_cache&tags=weights', [{ kind: 'restore', tags: ['weights', 'kv_cache'] }]],
    ['wake_up?tags=kv%5Fcache', [{ kind: 'restore', tags: ['kv_cache'] }]],
    ['wake_up?tags=graphs', []],
    ['wake_up?tags=scheduling', [{ kind: 'resume' }]],
    [
      'wake_up?tags=weights&tags=scheduling',
      [{ kind: 'restore', tags: ['weights'] }, { kind: 'resume' }],
    ],
    ['is_sleeping', []],
    ['collective_rpc', []],
    ['v1/pause', []],
  ])('%s', (target, expected) => {
    expect(effects(vllm, target)).toEqual(expected);
    expect(effects(vllm, target, '{"tags":["weights"],"level":0}')).toEqual(expected);
  });

  it('what sleep releases, waking its parts one by one takes back', () => {
    const [released] = effects(vllm, 'sleep?level=2');
    expect(released).toEqual({ kind: 'release', tags: both });
  });

  it('finish_weight_update and update_weight_version publish a version they carry', () => {
    expect(effects(vllm, 'finish_weight_update', '{"weight_version":"9"}')).toEqual(version('9'));
    expect(effects(vllm, 'finish_weight_update', '{}')).toEqual([]);
    expect(effects(vllm, 'finish_weight_update')).toEqual([]);
    expect(effects(vllm, 'update_weight_version', '{"new_version":"9"}')).toEqual(version('9'));
    expect(effects(vllm, 'update_weights', '{"weight_version":"9"}')).toEqual([]);
  });
});

it('capabilities are those of the contract', () => {
  expect(sglang.capabilities).toEqual({
    pauseModes: ['abort', 'retract', 'in_place'],
    updateFrom: ['disk', 'tensor', 'distributed'],
    abort: true,
    flushCache: true,
    sleepWake: true,
    reportsWeightVersion: true,
  });
  expect(vllm.capabilities).toEqual({
    pauseModes: ['abort', 'wait', 'keep'],
    updateFrom: ['disk', 'distributed'],
    abort: false,
    flushCache: false,
    sleepWake: true,
    reportsWeightVersion: false,
  });
  expect((tokenspeed as EngineAdapter).capabilities).toBeUndefined();
});
