import { GatewayError } from '@smg/protocol';
import { type AnswerRecording, type ResponseInterceptor } from '@smg/plugin-api';
import { type UpstreamFailure } from '@smg/upstream';
import { type ClientWriter } from '../client.writer';
import { upstreamError } from '../gateway-reply';
import { type InferenceExchange } from '../inference.exchange';
import { type AnswerRules } from '../kinds/answer-rules';
import { type RoutableWorker, type RunServices } from '../run.services';
import { type TenantShare } from '../tenant.share';
import { type AttemptOwner, type RunningAttempt, UpstreamAttempt } from '../upstream.attempt';
import { type FieldEdits, editFields } from './core/field-edits';
import { legError } from './core/leg-errors';
import { promptLogprobsOf, wantsLogprobs } from './core/logprobs';
import { DecodeGate, type GateListener } from './decode.gate';
import { type PairHost, type PairOutcome, type PairPlan } from './pair-host';
import { type PdMetrics } from './pd.metrics';
import { type PrefillAnswer, PrefillLeg, type PrefillListener } from './prefill.leg';

const NO_LOGPROBS: ReadonlyMap<number, string> = new Map();

/**
 * One attempt at an SGLang pair: the same request goes to both workers at once, and the engines find
 * each other. The client gets decode's answer once prefill has answered with success. Whatever ends one
 * leg early ends the other.
 */
export class DualAttempt implements AttemptOwner, RunningAttempt, PrefillListener, GateListener {
  readonly services: RunServices;
  readonly exchange: InferenceExchange;
  readonly writer: ClientWriter;
  readonly interceptors: readonly ResponseInterceptor[];
  readonly rules: AnswerRules | undefined;
  private readonly leg: PrefillLeg;
  private readonly gate: DecodeGate;
  private readonly relay: UpstreamAttempt;
  private readonly joins: boolean;
  private startedAt = 0;
  /** Decode has begun its answer, so it has the cache: what becomes of prefill matters no more. */
  private hasDecoded = false;
  private isOver = false;

  constructor(
    private readonly host: PairHost,
    private readonly plan: PairPlan,
    private readonly outcome: PairOutcome,
    private readonly metrics: PdMetrics,
  ) {
    this.services = host.services;
    this.exchange = host.exchange;
    this.writer = host.writer;
    this.interceptors = host.interceptors;
    this.rules = host.rules;
    this.joins = wantsLogprobs(host.exchange.endpoint, plan.json);
    const { transport, options } = host.services;
    this.leg = new PrefillLeg(host.services, host.exchange, plan.prefill, this.joins, this);
    this.gate = new DecodeGate(transport, options.maxPayloadSize, this);
    this.relay = new UpstreamAttempt(this, plan.decode);
  }

  get worker(): RoutableWorker {
    return this.plan.decode;
  }

  get share(): TenantShare | undefined {
    return this.host.share;
  }

  get recording(): AnswerRecording | undefined {
    return this.host.recording;
  }

  /** @param fields of both legs, model and bootstrap. */
  start(fields: FieldEdits): void {
    const { host, plan } = this;
    this.startedAt = this.services.now();
    const body = editFields(host.bytes, fields);
    const { prefillRank, decodeRank } = plan;
    const toPrefill = host.requestTo(plan.prefill, withRanks(body, prefillRank, undefined));
    const toDecode = host.requestTo(plan.decode, withRanks(body, decodeRank, prefillRank));
    this.leg.start(toPrefill);
    this.relay.start(toDecode, this.gate);
  }

  clientGone(): void {
    this.isOver = true;
    this.leg.abort();
    this.relay.clientGone();
  }

  resume(): void {
    this.gate.resume();
  }

  onPrefillHead(): void {
    this.metrics.prefilled(this.exchange.model, this.plan.prefill.runtime, this.elapsed);
    if (!this.joins) this.gate.open(NO_LOGPROBS);
  }

  onPrefillAnswer({ status, body, isEvents }: PrefillAnswer): void {
    if (this.isOver) return;
    if (status < 200 || status > 299) {
      this.end();
      this.outcome.refused('prefill', legError('prefill', status, body), status);
    } else if (this.joins) this.gate.open(promptLogprobsOf(body, isEvents));
  }

  onPrefillFailure(error: GatewayError, isRepeatable: boolean): void {
    if (this.isOver || (this.hasDecoded && !this.joins)) return;
    this.metrics.bootstrapFailed();
    this.end();
    if (this.writer.headSent) this.breakOff();
    else this.outcome.failed('prefill', error, isRepeatable);
  }

  onDecodeRefusing(): void {
    // Prefill would wait for a peer that does not come.
    this.leg.abort();
  }

  onDecodeRefusal(status: number, body: Buffer): void {
    this.plan.decode.recordOutcome(status);
    this.end();
    this.outcome.refused('decode', legError('decode', status, body), status);
  }

  onDecodeUnreadable(failure: UpstreamFailure): void {
    const { message } = upstreamError(failure, this.plan.decode.baseUrl);
    this.services.metrics.workerFailed(this.plan.decode, 'backend_error');
    this.plan.decode.recordTransportFailure(502);
    this.end();
    this.outcome.failed('decode', new GatewayError('decode_read_failed', message), false);
  }

  onDecodeByte(): void {
    this.hasDecoded = true;
    this.metrics.began(this.exchange.model, this.plan.prefill.runtime, this.elapsed);
  }

  onDecodeEnd(): void {
    this.isOver = true;
    this.leg.drain();
  }

  onDecodeAborted(): void {
    this.isOver = true;
    this.leg.abort();
  }

  /** Only successes come this far. */
  retryAnswer(): boolean {
    return this.host.isOver;
  }

  retryFailure(error: GatewayError): void {
    this.end();
    this.metrics.bootstrapFailed();
    this.outcome.failed('decode', error, true);
  }

  refuse(error: GatewayError): void {
    this.end();
    this.host.refuse(error);
  }

  committed(): void {
    this.host.committed();
  }

  /** The head has gone out ahead of the first byte, which will not come. */
  private breakOff(): void {
    this.services.metrics.truncatedStream(this.exchange.model, this.exchange.endpoint);
    this.writer.truncate(undefined);
  }

  private get elapsed(): number {
    return this.services.now() - this.startedAt;
  }

  /** Lets go of both engines at once. */
  private end(): void {
    this.isOver = true;
    this.leg.abort();
    this.relay.clientGone();
  }
}

/** @param peer rank of the prefill worker, for decode to know. */
function withRanks(body: Buffer, own: number | undefined, peer: number | undefined): Buffer {
  const ranks = new Map<string, string>();
  if (own !== undefined) ranks.set('routed_dp_rank', String(own));
  if (peer !== undefined) ranks.set('disagg_prefill_dp_rank', String(peer));
  return ranks.size === 0 ? body : editFields(body, ranks);
}
