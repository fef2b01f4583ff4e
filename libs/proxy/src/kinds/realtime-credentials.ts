import { GatewayError } from '@smg/protocol';
import { type RouteFacts } from '../core/inference-routes';
import { type RoutableWorker } from '../run.services';

/** A realtime session is made with credentials: the client's, or the worker's own. */
export function refuseWithoutCredentials(
  route: RouteFacts,
  authorization: string | undefined,
  worker: RoutableWorker,
): GatewayError | undefined {
  if (route.isRealtime !== true || authorization !== undefined || worker.apiKey !== undefined) {
    return undefined;
  }
  return new GatewayError('missing_credentials', 'the call has no credentials, nor has the worker');
}
