import { type AskEngine, type EngineAdapter, type EngineAnswer } from '@smg/plugin-api';

/**
 * Finds out what an engine is when nobody said. Law: SMG contract 3.4 step 3: the owner in its model
 * list, then paths that identify an engine, in recognition order, then the fallbacks. Never throws.
 */
export async function recogniseEngine(
  adapters: readonly EngineAdapter[],
  ask: AskEngine,
): Promise<EngineAdapter | undefined> {
  const list = await quietly(ask, '/v1/models');
  const owner = ownerOf(list?.json);
  if (owner !== undefined) {
    const byOwner = adapters.find((adapter) => adapter.recognition.ownedBy.includes(owner));
    if (byOwner !== undefined) return byOwner;
  }
  for (const adapter of adapters) {
    const { path } = adapter.recognition;
    if (path !== undefined && isGood(await quietly(ask, path))) return adapter;
  }
  const fallback = owner !== undefined || hasModels(list) ? 'answers' : 'silent';
  return adapters.find((adapter) => adapter.recognition.fallback === fallback);
}

async function quietly(ask: AskEngine, path: string): Promise<EngineAnswer | undefined> {
  try {
    return await ask(path);
  } catch {
    return undefined;
  }
}

const isGood = (answer: EngineAnswer | undefined): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300;

const hasModels = (answer: EngineAnswer | undefined): boolean =>
  isGood(answer) && firstModel(answer?.json) !== undefined;

function ownerOf(json: unknown): string | undefined {
  const owner = firstModel(json)?.['owned_by'];
  return typeof owner === 'string' ? owner.toLowerCase() : undefined;
}

function firstModel(json: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { data } = json as { data?: unknown };
  const first: unknown = Array.isArray(data) ? data[0] : undefined;
  return typeof first === 'object' && first !== null
    ? (first as Readonly<Record<string, unknown>>)
    : undefined;
}
