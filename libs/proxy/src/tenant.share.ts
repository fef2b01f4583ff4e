import { GatewayError, type Endpoint } from '@smg/protocol';
import { type Admission, type AdmissionRequest, type ChargeOutcome } from '@smg/plugin-api';
import { type RequestFacts } from './core/request-facts';
import { estimateTokens, type TokenEstimate } from './core/token-estimate';
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

  constructor(
    private readonly charge: Extract<ChargeOutcome, { readonly allowed: true }>,
    private readonly endpoint: Endpoint,
    /** What was taken. */
    private readonly estimate: TokenEstimate,
  ) {}

  dispatched(): void {
    this.wasDispatched = true;
  }

  /** The head of an engine's answer. */
  answered(isSuccess: boolean): void {
    this.wasAnswered = true;
    if (isSuccess) this.hasWorked = true;
  }

  /** @returns what wants to see the bytes of a stream. */
  watchStream(): UsageWatch {
    this.stream = new UsageWatch(this.endpoint);
    return this.stream;
  }

  /** A whole answer. */
  readUsage(body: Buffer): void {
    if (this.hasWorked) this.used = usageOf(this.endpoint, body);
  }

  /** @param hasLeft the client went away before it got any answer. */
  over(hasLeft: boolean): void {
    const used = this.used ?? this.streamed;
    if (used !== undefined) this.charge.settle(used);
    // Who sends requests and hangs up would else keep engines busy for nothing.
    else if (!this.wasAnswered && !(hasLeft && this.wasDispatched)) this.charge.refund();
    // A refusal of an engine is a request, but generates nothing.
    else if (this.wasAnswered && !this.hasWorked) this.charge.settle(0);
  }

  /** What a stream used, as far as it can be told; undefined when the estimate says it better. */
  private get streamed(): number | undefined {
    const { stream, estimate } = this;
    if (stream === undefined) return undefined;
    // Several answers to /generate report one by one, each its own part of a sum.
    const isPart = this.endpoint === 'generate' && estimate.answers > 1;
    const reported = isPart ? undefined : stream.tokens;
    if (reported !== undefined) return reported;
    // Without a report and without a limit the prompt alone was taken, and tokens without end are sent.
    const counted = estimate.prompt + stream.events;
    return counted > estimate.tokens ? counted : undefined;
  }
}

/** Takes the request's share of its tenant's budget. @returns the refusal when there is no room. */
export function takeShare(
  admission: Admission,
  request: AdmissionRequest,
  exchange: InferenceExchange,
  { facts, unreadBytes }: { readonly facts: RequestFacts; readonly unreadBytes: number },
): TenantShare | GatewayError {
  const textBytes = exchange.routingText()?.length ?? unreadBytes;
  const estimate = estimateTokens(exchange.endpoint, facts.json, textBytes);
  const tenant = admission.tenantOf(request);
  const outcome = admission.charge({ tenant, model: exchange.model, tokens: estimate.tokens });
  if (outcome.allowed) return new TenantShare(outcome, exchange.endpoint, estimate);
  const { message, retryAfterSecs } = outcome;
  const options = retryAfterSecs === undefined ? {} : { retryAfterSecs };
  return new GatewayError('tenant_rate_limit_exceeded', message, options);
}
