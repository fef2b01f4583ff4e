import { type AnswerRecording } from '@smg/plugin-api';
import { type RequestFacts } from './core/request-facts';
import { type InferenceExchange } from './inference.exchange';
import { type RunServices } from './run.services';

/** What keeps the answer to a request; undefined when nobody does. */
export function recordingOf(
  { recorder }: RunServices,
  { endpoint, requestId }: InferenceExchange,
  { json }: RequestFacts,
  authenticatedTenant: string | undefined,
): AnswerRecording | undefined {
  // Only these answers have an id to be asked for by.
  if (endpoint !== 'responses') return undefined;
  return recorder?.recordingOf({ endpoint, requestId, authenticatedTenant, json });
}
