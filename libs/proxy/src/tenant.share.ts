import { GatewayError, type Endpoint } from '@smg/protocol';
import { type Admission, type AdmissionRequest, type ChargeOutcome } from '@smg/plugin-api';
import { type RequestFacts } from './core/request-facts';
import { estimateTokens } from './core/token-estimate';
import { UsageWatch, usageOf } from './core/usage';
import { type InferenceExchange } from './inference.exchange';

/**
 * What one request has taken from its tenant's budget, and what becomes of it when the request is
 * over: given back while no engine has answered, corrected where an engine says what was used.
 */
export class TenantShare {
  private wasDispatched = false;
  private wasAnswered = false;
  /** An engine began an answer with success: it generates. */
  private hasWorked = false;
  private used: number | undefined;
  private stream: UsageWatch | undefined;

  /** @param answers how many the request asks for. */
  constructor(
    private readonly charge: Extract<ChargeOutcome, { readonly allowed: true }>,
    private readonly endpoint: Endpoint,
    private readonly answers: number,
  ) {}

  dispatched(): void {
    this.wasDispatched = true;
  }

  /** The head of an engine's answer. */
  answered(isSuccess: boolean): void {
    this.wasAnswered = true;
    if (isSuccess) this.hasWorked = true;
  }

  /** @returns what wants to see the bytes of a stream; undefined when its reports are parts of a sum. */
  watchStream(): UsageWatch | undefined {
    if (this.endpoint !== 'generate' || this.answers === 1) {
      this.stream = new UsageWatch(this.endpoint);
    }
    return this.stream;
  }

  /** A whole answer. */
  readUsage(body: Buffer): void {
    if (this.hasWorked) this.used = usageOf(this.endpoint, body);
  }

  /** @param hasLeft the client went away before it got any answer. */
  over(hasLeft: boolean): void {
    const used = this.used ?? this.stream?.tokens;
    if (used !== undefined) this.charge.settle(used);
    // Who sends requests and hangs up would else keep engines busy for nothing.
    else if (!this.wasAnswered && !(hasLeft && this.wasDispatched)) this.charge.refund();
    // A refusal of an engine is a request, but generates nothing.
    else if (this.wasAnswered && !this.hasWorked) this.charge.settle(0);
  }
}

/** Takes the request's share of its tenant's budget. @returns the refusal when there is no room. */
export function takeShare(
  admission: Admission,
  request: AdmissionRequest,
  exchange: InferenceExchange,
  facts: RequestFacts,
): TenantShare | GatewayError {
  const textBytes = exchange.routingText()?.length ?? 0;
  const { tokens, answers } = estimateTokens(exchange.endpoint, facts.json, textBytes);
  const tenant = admission.tenantOf(request);
  const outcome = admission.charge({ tenant, model: exchange.model, tokens });
  if (outcome.allowed) return new TenantShare(outcome, exchange.endpoint, answers);
  const { message, retryAfterSecs } = outcome;
  const options = retryAfterSecs === undefined ? {} : { retryAfterSecs };
  return new GatewayError('tenant_rate_limit_exceeded', message, options);
}
