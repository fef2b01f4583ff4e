import { type AskEngine, type EngineAnswer, type EngineFacts } from '@smg/plugin-api';
import { FactSheet } from './fact-sheet';
import { firstModel } from './answers';

/** Members of `/server_info` that become labels of the same name. Source: SMG contract 3.6. */
const SERVER_INFO = [
  'model_id',
  ['model', 'model_id'],
  'model_path',
  'served_model_name',
  'tp_size',
  'dp_size',
  'pp_size',
  'load_balance_method',
  'disaggregation_mode',
  'version',
  'is_embedding',
  'context_length',
  'max_total_tokens',
  'max_running_requests',
  'weight_version',
] as const;

const MODEL_INFO = [
  'model_path',
  'tokenizer_path',
  'is_generation',
  'has_image_understanding',
  'has_audio_understanding',
  'model_type',
] as const;

const MODEL_LIST = [
  ['id', 'served_model_name'],
  ['root', 'model_path'],
] as const;

/** Asks `path`, and its older spelling when an engine does not know it. */
async function askEither(
  ask: AskEngine,
  path: string,
  older: string,
): Promise<EngineAnswer | undefined> {
  const answer = await asked(ask, path);
  return answer?.status === 404 ? asked(ask, older) : answer;
}

/** One question; an engine that does not answer it only leaves a gap. */
async function asked(ask: AskEngine, path: string): Promise<EngineAnswer | undefined> {
  try {
    return await ask(path);
  } catch {
    return undefined;
  }
}

const isGood = (answer: EngineAnswer | undefined): answer is EngineAnswer =>
  answer !== undefined && answer.status >= 200 && answer.status < 300;

/** Discovery of SGLang and of every engine that answers in its shape. */
export async function discoverNative(ask: AskEngine): Promise<EngineFacts> {
  const [server, model, list] = await Promise.all([
    askEither(ask, '/server_info', '/get_server_info'),
    askEither(ask, '/model_info', '/get_model_info'),
    asked(ask, '/v1/models'),
  ]);
  const sheet = new FactSheet();
  if (isGood(server)) sheet.take(server.json, SERVER_INFO);
  if (isGood(model)) sheet.take(model.json, MODEL_INFO);
  if (isGood(list)) sheet.take(firstModel(list.json), MODEL_LIST);
  return sheet.finish();
}

/** Discovery of vLLM, which says everything in its model list. */
export async function discoverOpenAi(ask: AskEngine): Promise<EngineFacts> {
  const [list, version] = await Promise.all([asked(ask, '/v1/models'), asked(ask, '/version')]);
  const sheet = new FactSheet();
  if (isGood(list)) sheet.take(firstModel(list.json), MODEL_LIST);
  if (isGood(version)) sheet.take(version.json, ['version']);
  return sheet.finish();
}
