import { type ServeSettings } from '@smg/config';
import { ServeError } from './serve-error';
import { splitWords } from './split-words';

/** A program and its arguments. The arguments may hold secrets: not for a log. */
export interface EngineCommand {
  readonly file: string;
  readonly args: readonly string[];
}

type Settings = Pick<ServeSettings, 'backend' | 'engineCommand' | 'tokenUsageDetails'>;

const MODULES = { sglang: 'sglang.launch_server', vllm: 'vllm.entrypoints.openai.api_server' };
const USAGE_FLAGS = { sglang: '--enable-cache-report', vllm: '--enable-prompt-tokens-details' };

/**
 * What is run as an engine. Its own arguments go through as they are; the address comes last, so that
 * it wins. @throws ServeError when `--engine-command` cannot be read.
 */
export function engineCommand(
  settings: Settings,
  engineArgs: readonly string[],
  host: string,
  port: number,
): EngineCommand {
  const { backend, tokenUsageDetails } = settings;
  const [file = '', ...head] = programOf(settings, engineArgs);
  const usage = USAGE_FLAGS[backend];
  const isAdded = tokenUsageDetails && !engineArgs.includes(usage);
  const address = ['--host', host, '--port', String(port)];
  return { file, args: [...head, ...engineArgs, ...(isAdded ? [usage] : []), ...address] };
}

function programOf(settings: Settings, engineArgs: readonly string[]): readonly string[] {
  if (settings.engineCommand === undefined) return backendProgram(settings.backend, engineArgs);
  const words = splitWords(settings.engineCommand);
  if (words === undefined) throw new ServeError('--engine-command: a quote is not closed');
  if ((words[0] ?? '') === '') throw new ServeError('--engine-command: names no program');
  return words;
}

/** vLLM takes its model as a first word from its own program alone. */
function backendProgram(
  backend: ServeSettings['backend'],
  engineArgs: readonly string[],
): readonly string[] {
  return backend === 'vllm' && engineArgs[0]?.startsWith('-') === false
    ? ['vllm', 'serve']
    : ['python3', '-m', MODULES[backend]];
}
