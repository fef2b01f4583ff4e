import { ROUTING_TOKENS } from '@smg/protocol';
import { type SelectionContext, type WorkerDirectory } from '@smg/plugin-api';
import { type ClientHead } from '../core/client-head';
import { type RouteFacts } from '../core/inference-routes';
import { parseRoutingTokens } from '../core/routing-hints';
import { type RunServices } from '../run.services';

/**
 * Decides by the head alone whether a body is large and need not be read: nobody routes by what is in
 * it, and nothing must be written into it.
 * @returns the model that it will be served by, or undefined: the body is held and read.
 */
export function uploadModel(
  { options, directory, selector }: RunServices,
  route: RouteFacts,
  head: ClientHead,
  context: SelectionContext,
): string | undefined {
  const threshold = options.streamRequestBodiesOver ?? 0;
  if (threshold <= 0 || route.mayStreamBody !== true || options.requireModel) return undefined;
  if (head.isChunked || head.contentLength <= threshold) return undefined;
  const hasKey = options.stickyKeys === true && context.routingKey() !== undefined;
  // Without a key in a header the body may have one, its `rid`.
  if (options.stickyKeys === true && !hasKey) return undefined;
  const model = onlyModel(directory);
  if (model === undefined) return undefined;
  if (hasKey || parseRoutingTokens(head.header(ROUTING_TOKENS)) !== undefined) return model;
  return selector.readsBody(model) ? undefined : model;
}

/** The one model of a fleet of regular workers without ranks; undefined for every other fleet. */
function onlyModel(directory: WorkerDirectory): string | undefined {
  let model: string | undefined;
  for (const worker of directory.all()) {
    if (worker.workerType !== 'regular' || worker.dpRank !== undefined) return undefined;
    if (model !== undefined && worker.modelId !== model) return undefined;
    model = worker.modelId;
  }
  return model;
}
