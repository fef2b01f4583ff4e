import { MEMORY_TAGS, readTags, type PauseMode } from '../engine-state';
import { stringOf, type RouteContext, type RouteHandler, type RouteTable } from '../route-table';

type Body = Readonly<Record<string, unknown>>;

const ok = (context: RouteContext, more: object = {}): Promise<void> =>
  context.answer.json(200, { success: true, message: 'Succeeded.', ...more });

const failed = (context: RouteContext, message: string): Promise<void> =>
  context.answer.json(400, { success: false, message });

/** A route that wants a JSON object, even an empty one: SGLang refuses a POST without a body. */
const withBody =
  (handle: (context: RouteContext, body: Body) => Promise<void>): RouteHandler =>
  (context) => {
    const body = context.request.jsonObject();
    return body === undefined
      ? failed(context, 'a JSON object is required as the body')
      : handle(context, body);
  };

const PAUSE_MODES: readonly unknown[] = ['abort', 'retract', 'in_place'];

const pause = withBody((context, body) => {
  const mode = body['mode'] ?? 'abort';
  if (!PAUSE_MODES.includes(mode)) {
    return failed(context, 'mode must be one of abort, retract, in_place');
  }
  context.state.pause(mode as PauseMode);
  return context.answer.json(200, { status: 'ok', message: 'Generation paused.' });
});

const resume = withBody((context) => {
  context.state.resume();
  return context.answer.json(200, { status: 'ok', message: 'Generation continued.' });
});

/** Tags of an optional body. */
function tagsOf(context: RouteContext): ReturnType<typeof readTags> {
  if (context.request.body.length === 0) return MEMORY_TAGS;
  const body = context.request.jsonObject();
  return body === undefined ? undefined : readTags(body['tags']);
}

async function release(context: RouteContext): Promise<void> {
  const tags = tagsOf(context);
  if (tags === undefined) return failed(context, 'tags must be of weights, kv_cache, cuda_graph');
  if (context.state.running.size > 0 && context.options.releaseWhenBusy === 'crash') {
    context.crash();
    return;
  }
  context.state.release(tags);
  return context.answer.json(200, null);
}

async function restore(context: RouteContext): Promise<void> {
  const tags = tagsOf(context);
  if (tags === undefined) return failed(context, 'tags must be of weights, kv_cache, cuda_graph');
  context.state.restore(tags);
  return context.answer.json(200, null);
}

/** A version as SGLang keeps it: text. Numbers keep their usual spelling. */
function versionOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : stringOf(value);
}

/** Every bucket that carries a version publishes it; one without leaves the version as it was. */
const updateWeights = withBody((context, body) => {
  if (body['abort_all_requests'] === true) context.state.abort(() => true);
  const version = versionOf(body['weight_version']);
  if (version !== undefined) context.state.publish(version);
  if (body['flush_cache'] !== false) context.state.cacheFlushes += 1;
  return ok(context, { num_paused_requests: 0 });
});

const updateVersion = withBody((context, body) => {
  const version = versionOf(body['new_version']);
  if (version === undefined) return failed(context, 'new_version is required');
  // The engine's default, surprising as it is.
  if (body['abort_all_requests'] !== false) context.state.abort(() => true);
  context.state.publish(version);
  return ok(context, { new_version: version });
});

async function flushCache(context: RouteContext): Promise<void> {
  const busy = context.state.running.size;
  if (busy > 0) {
    return context.answer.send(400, 'text/plain', `Cache not flushed: ${busy} requests running.\n`);
  }
  context.state.cacheFlushes += 1;
  return context.answer.send(200, 'text/plain', 'Cache flushed.\n');
}

const abortRequest = withBody((context, body) => {
  const rid = stringOf(body['rid']);
  context.state.abort((generation) => {
    if (body['abort_all'] === true) return true;
    if (rid === undefined) return false;
    return body['prefix'] === true ? generation.rid.startsWith(rid) : generation.rid === rid;
  });
  return context.answer.send(200, '', '');
});

export function addSglangControl(table: RouteTable): void {
  const accept = withBody((context) => ok(context));
  table
    .add('POST', '/pause_generation', pause)
    .add('POST', '/continue_generation', resume)
    .add('GET POST', '/release_memory_occupation', release)
    .add('GET POST', '/resume_memory_occupation', restore)
    .add('POST', '/update_weights_from_disk', updateWeights)
    .add('POST', '/update_weights_from_tensor', updateWeights)
    .add('POST', '/update_weights_from_distributed', updateWeights)
    .add('POST', '/update_weights_from_ipc', updateWeights)
    .add('POST', '/update_weight_version', updateVersion)
    .add('POST', '/init_weights_update_group', accept)
    .add('POST', '/destroy_weights_update_group', accept)
    .add('POST', '/load_lora_adapter', accept)
    .add('POST', '/unload_lora_adapter', accept)
    .add('GET POST', '/flush_cache', flushCache)
    .add('POST', '/abort_request', abortRequest)
    .add('GET POST', '/start_profile', (context) => ok(context))
    .add('GET POST', '/stop_profile', (context) => ok(context));
}
