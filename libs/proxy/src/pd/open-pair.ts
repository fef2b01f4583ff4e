import { ERROR_CODE, GatewayError, REQUEST_ID } from '@smg/protocol';
import { type WorkerPoolView } from '@smg/plugin-api';
import { type RouteFacts } from '../core/inference-routes';
import { type RequestFacts } from '../core/request-facts';
import { type GatewayReply } from '../gateway-reply';
import { poolOf } from '../kinds/labelled.pool';
import { type BackendType } from '../router.metrics';
import { type RunServices } from '../run.services';
import { type PairHost } from './pair-host';
import { PairRun } from './pair.run';
import { type PairPools, pairTarget } from './pair.target';

/** Where a request goes. */
export interface Target {
  /** Undefined: nobody serves the model. Of a pair, the one that answers. */
  readonly pool: WorkerPoolView | undefined;
  /** Undefined: to one worker. */
  readonly pools: PairPools | undefined;
  readonly backend: BackendType;
}

export function targetOf(
  { pairs, directory, random }: RunServices,
  route: RouteFacts,
  model: string,
): Target | 'unsupported' {
  const pools = pairs && pairTarget(directory, pairs.options, route.path, model, random());
  if (pools === 'unsupported') return pools;
  if (pools !== undefined) return { pool: pools.decode ?? pools.prefill, pools, backend: 'pd' };
  return { pool: poolOf(directory, route, model), pools: undefined, backend: 'regular' };
}

export function pairRun(
  host: PairHost,
  { pools }: Target,
  { json, namesModel }: RequestFacts,
): PairRun | undefined {
  const { pairs } = host.services;
  if (pairs === undefined || pools === undefined) return undefined;
  return new PairRun(host, pairs, pools, json, namesModel);
}

/** The plain 501 of a route that no pair can serve. */
export function unsupported(route: RouteFacts, requestId: string): [GatewayError, GatewayReply] {
  const body = `${route.path} is not supported with prefill/decode disaggregation`;
  const headers = ['content-type', 'text/plain; charset=utf-8', REQUEST_ID, requestId];
  return [new GatewayError('route_not_supported', body), { status: 501, headers, body }];
}

/** A stream that is one event and no end. */
export function eventReply(
  error: GatewayError,
  status: number,
  event: string,
  requestId: string,
): GatewayReply {
  const type = ['content-type', 'text/event-stream'];
  const headers = [...type, REQUEST_ID, requestId, ERROR_CODE, error.code];
  return { status, headers, body: event };
}
