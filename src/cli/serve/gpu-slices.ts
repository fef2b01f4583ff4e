import { ServeError } from './serve-error';

/** Flags that multiply the GPUs of an engine, as SGLang and vLLM spell them. */
const PARALLEL_FLAGS: readonly (readonly string[])[] = [
  ['--tensor-parallel-size', '--tp-size', '--tp', '-tp'],
  ['--pipeline-parallel-size', '--pp-size', '--pp', '-pp'],
];

/** GPUs one engine wants, from its own arguments. @throws ServeError when a size is none. */
export function gpusPerEngine(engineArgs: readonly string[]): number {
  return PARALLEL_FLAGS.reduce((gpus, flags) => gpus * sizeOf(engineArgs, flags), 1);
}

function sizeOf(engineArgs: readonly string[], flags: readonly string[]): number {
  let size = 1;
  for (const [at, word] of engineArgs.entries()) {
    const [flag = '', inline] = word.split('=', 2);
    if (!flags.includes(flag.replaceAll('_', '-'))) continue;
    const value = inline ?? engineArgs[at + 1] ?? '';
    // The last one counts, for the engine as well.
    size = /^\d{1,4}$/.test(value) ? Number(value) : 0;
    if (size < 1) throw new ServeError(`${flag}: is not followed by a whole number above 0`);
  }
  return size;
}

/**
 * `CUDA_VISIBLE_DEVICES` of each engine. What is set already is the pool to share out; entries may be
 * numbers or UUIDs. `-1` shows no GPU to anybody, so it is passed on.
 * @throws ServeError when the pool is too small.
 */
export function gpuSlices(
  pool: string | undefined,
  engines: number,
  gpusEach: number,
): readonly string[] {
  const named = (pool ?? '').split(',').flatMap((entry) => entry.trim() || []);
  if (named[0] === '-1') return Array.from({ length: engines }, () => '-1');
  const wanted = engines * gpusEach;
  if (named.length > 0 && named.length < wanted) {
    throw new ServeError(
      `CUDA_VISIBLE_DEVICES names ${named.length} of the ${wanted} GPUs that --data-parallel-size ${engines} needs with ${gpusEach} each`,
    );
  }
  const gpus = named.length > 0 ? named : Array.from({ length: wanted }, (_, gpu) => String(gpu));
  return Array.from({ length: engines }, (_, engine) =>
    gpus.slice(engine * gpusEach, (engine + 1) * gpusEach).join(','),
  );
}
