import { engineError } from '../engine-error';
import { MEMORY_TAGS, readTags, type PauseMode } from '../engine-state';
import { stringOf, type RouteContext, type RouteTable } from '../route-table';
import { health, metrics, models } from './sglang-info.routes';

/** Version string reported by the mock. */
const VLLM_VERSION = '0.11.0';

const bad = (context: RouteContext, message: string): Promise<void> =>
  context.answer.json(400, engineError('vllm', 400, message));

const empty = (context: RouteContext): Promise<void> => context.answer.send(200, '', '');

const status = (context: RouteContext, text: string): Promise<void> =>
  context.answer.json(200, { status: text });

const PAUSE_MODES: readonly string[] = ['abort', 'wait', 'keep'];

async function pause(context: RouteContext): Promise<void> {
  const mode = context.request.query.get('mode') ?? 'abort';
  if (!PAUSE_MODES.includes(mode)) return bad(context, 'mode must be one of abort, wait, keep');
  const { state, answer } = context;
  state.pause(mode as PauseMode);
  // New requests queue from here on; `wait` answers when those admitted before have ended.
  if (mode === 'wait') {
    const drained = (): boolean => ![...state.running].some(({ isAdmitted }) => isAdmitted);
    await state.until(drained, answer.signal);
  }
  return status(context, 'paused');
}

async function resume(context: RouteContext): Promise<void> {
  context.state.resume();
  return status(context, 'resumed');
}

/** Level 0 pauses; 1 and 2 release weights and KV cache. */
async function goToSleep(context: RouteContext): Promise<void> {
  const level = context.request.query.get('level') ?? '1';
  if (!['0', '1', '2'].includes(level)) return bad(context, 'level must be 0, 1 or 2');
  if (level === '0') context.state.pause('keep');
  else context.state.release(['weights', 'kv_cache']);
  return empty(context);
}

async function wakeUp(context: RouteContext): Promise<void> {
  const tags = readTags(context.request.query.getAll('tags'));
  if (tags === undefined) return bad(context, 'tags must be of weights, kv_cache');
  context.state.restore(tags.length === 0 ? MEMORY_TAGS : tags);
  return empty(context);
}

async function startUpdate(context: RouteContext): Promise<void> {
  context.state.updating = true;
  return status(context, 'ok');
}

async function updateWeights(context: RouteContext): Promise<void> {
  if (context.request.jsonObject() === undefined) return bad(context, 'update_info is required');
  return status(context, 'ok');
}

/** Publishes the version, when one is given, only now. */
async function finishUpdate(context: RouteContext): Promise<void> {
  const version = context.request.jsonObject()?.['weight_version'];
  context.state.updating = false;
  if (typeof version === 'string' || typeof version === 'number') {
    context.state.publish(String(version));
  }
  return status(context, 'ok');
}

async function updateVersion(context: RouteContext): Promise<void> {
  const version = context.request.jsonObject()?.['new_version'];
  if (typeof version !== 'string' && typeof version !== 'number') {
    return bad(context, 'new_version is required');
  }
  context.state.publish(String(version));
  return context.answer.json(200, { success: true, new_version: String(version) });
}

async function collectiveRpc(context: RouteContext): Promise<void> {
  const method = stringOf(context.request.jsonObject()?.['method']);
  if (method === undefined) return bad(context, 'method is required');
  return context.answer.json(200, {
    results: Array.from({ length: context.options.dpSize }, () => null),
  });
}

async function abortRequests(context: RouteContext): Promise<void> {
  const ids = context.request.jsonObject()?.['request_ids'];
  const wanted = Array.isArray(ids) && ids.length > 0 ? new Set<unknown>(ids) : undefined;
  const aborted = context.state.abort(({ rid }) => wanted?.has(rid) ?? true);
  return context.answer.json(200, { status: 'ok', aborted });
}

async function resetPrefixCache(context: RouteContext): Promise<void> {
  context.state.cacheFlushes += 1;
  return empty(context);
}

async function weightChecker(context: RouteContext): Promise<void> {
  return context.state.mayGenerate
    ? status(context, 'ok')
    : context.answer.json(409, engineError('vllm', 409, 'the engine is paused or asleep'));
}

export function addVllm(table: RouteTable): void {
  table
    .add('GET HEAD', '/health', health)
    .add('GET', '/v1/models', models)
    .add('GET', '/version', (context) => context.answer.json(200, { version: VLLM_VERSION }))
    .add('GET', '/metrics', metrics)
    .add('POST', '/pause', pause)
    .add('POST', '/resume', resume)
    .add('GET', '/is_paused', (context) =>
      context.answer.json(200, { is_paused: context.state.paused !== undefined }),
    )
    .add('POST', '/sleep', goToSleep)
    .add('POST', '/wake_up', wakeUp)
    .add('GET', '/is_sleeping', (context) =>
      context.answer.json(200, { is_sleeping: context.state.isAsleep }),
    )
    .add('POST', '/start_weight_update', startUpdate)
    .add('POST', '/update_weights', updateWeights)
    .add('POST', '/finish_weight_update', finishUpdate)
    .add('POST', '/update_weight_version', updateVersion)
    .add('GET', '/weight_info', (context) =>
      context.answer.json(200, { weight_version: context.state.weightVersion }),
    )
    .add('GET', '/weight_checker', weightChecker)
    .add('POST', '/init_weight_transfer_engine', (context) => status(context, 'ok'))
    .add('POST', '/collective_rpc', collectiveRpc)
    .add('POST', '/reset_prefix_cache', resetPrefixCache)
    .add('POST', '/abort_requests', abortRequests)
    .add('GET', '/get_world_size', (context) =>
      context.answer.json(200, {
        world_size:
          context.request.query.get('include_dp') === 'false' ? 1 : context.options.dpSize,
      }),
    );
}
