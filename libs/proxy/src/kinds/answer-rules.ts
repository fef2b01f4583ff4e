import { type RelayHeaders } from '@smg/upstream';
import { type RouteFacts } from '../core/inference-routes';
import { type RequestFacts } from '../core/request-facts';
import { buildRerankAnswer, rerankRequest } from './core/rerank-answer';

/** What becomes of an engine's answer, where it is not relayed as it is. */
export interface AnswerRules {
  /** Of the engine's headers only Content-Type is relayed. */
  readonly onlyContentType: boolean;
  /** Makes the JSON that is sent in place of a successful answer, which is held until it is complete. */
  readonly build?: (body: Buffer) => Buffer;
}

const BARE: AnswerRules = Object.freeze({ onlyContentType: true });

/** @param model canonical. */
export function answerRulesOf(
  route: RouteFacts,
  { json }: RequestFacts,
  model: string,
): AnswerRules | undefined {
  if (route.isRealtime === true) return BARE;
  if (route.endpoint !== 'rerank') return undefined;
  const request = rerankRequest(route.path, json, model);
  return {
    onlyContentType: false,
    build: (body) => buildRerankAnswer(body, request, Math.floor(Date.now() / 1000)),
  };
}

/** An answer without what else its engine says in headers. */
export function withContentTypeOnly(relay: RelayHeaders): RelayHeaders {
  const { contentType } = relay;
  return { ...relay, headers: contentType === '' ? [] : ['content-type', contentType] };
}
