import { type ResponseInterceptor } from '@smg/plugin-api';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type ClientHead } from './core/client-head';
import { type RouteFacts } from './core/inference-routes';
import { type InferenceExchange } from './inference.exchange';

/** What a run is made of. */
export interface RunParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: ClientHead;
  readonly route: RouteFacts;
  readonly isPublic: boolean;
  /** `?…` of the request target, or empty. */
  readonly query: string;
  readonly exchange: InferenceExchange;
  readonly interceptors: readonly ResponseInterceptor[];
}
