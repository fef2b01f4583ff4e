import { GatewayError } from '@smg/protocol';
import { type AnswerRecording, type ResponseInterceptor } from '@smg/plugin-api';
import { type UpstreamCall, type UpstreamHandler, type UpstreamRequest } from '@smg/upstream';
import { type ClientWriter } from '../client.writer';
import { type InferenceExchange } from '../inference.exchange';
import { type AnswerRules } from '../kinds/answer-rules';
import { type RoutableWorker, type RunServices } from '../run.services';
import { type TenantShare } from '../tenant.share';
import { type AttemptOwner, type RunningAttempt, UpstreamAttempt } from '../upstream.attempt';
import { editFields, type FieldEdits } from './core/field-edits';
import {
  connectorMode,
  type ConnectorMode,
  decodeParams,
  prefillEdits,
  type PrefillConnector,
  wantsSeveral,
} from './core/kv-transfer';
import { messageIn } from './core/leg-errors';
import { FirstByteTap } from './first-byte.tap';
import { type PairHost, type PairOutcome, type PairPlan } from './pair-host';
import { type PdMetrics } from './pd.metrics';
import { type PrefillAnswer, PrefillLeg, type PrefillListener } from './prefill.leg';

const NOTHING = Buffer.alloc(0);

/**
 * One attempt at a vLLM pair: prefill is finished first, and its answer says where the KV cache is; then
 * decode is asked, and its answer relayed.
 */
export class SequentialAttempt implements AttemptOwner, RunningAttempt, PrefillListener {
  readonly services: RunServices;
  readonly exchange: InferenceExchange;
  readonly writer: ClientWriter;
  readonly interceptors: readonly ResponseInterceptor[];
  readonly rules: AnswerRules | undefined;
  private readonly mode: ConnectorMode;
  private leg: PrefillLeg | undefined;
  private relay: UpstreamAttempt | undefined;
  private startedAt = 0;

  constructor(
    private readonly host: PairHost,
    private readonly plan: PairPlan,
    private readonly outcome: PairOutcome,
    private readonly metrics: PdMetrics,
    private readonly transferId: string,
  ) {
    this.services = host.services;
    this.exchange = host.exchange;
    this.writer = host.writer;
    this.interceptors = host.interceptors;
    this.rules = host.rules;
    this.mode = connectorMode(plan.prefill.spec.kv_connector);
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

  start(): void {
    const { host, plan, mode } = this;
    this.startedAt = this.services.now();
    this.metrics.handsOver(mode);
    if (wantsSeveral(plan.json)) {
      this.decode(NOTHING, false);
      return;
    }
    const edits = prefillEdits(this.exchange.endpoint, plan.json, mode, this.transferId);
    const body = editFields(host.bytes, this.withOwn(edits, plan.prefillRank));
    this.share?.dispatched();
    this.leg = new PrefillLeg(this.services, this.exchange, plan.prefill, true, this);
    this.leg.start(host.requestTo(plan.prefill, body));
  }

  clientGone(): void {
    this.leg?.abort();
    this.relay?.clientGone();
  }

  resume(): void {
    this.relay?.resume();
  }

  onPrefillHead(): void {
    // The cache is known with the body.
  }

  onPrefillAnswer({ status, body }: PrefillAnswer): void {
    if (this.host.isOver) return;
    if (status < 200 || status > 299) {
      const text = messageIn(body);
      // Nothing but an error status can be passed on as one.
      const options = status < 400 ? {} : { status };
      const error = new GatewayError('prefill_upstream_error', text, options);
      this.outcome.refused('prefill', error, status);
      return;
    }
    this.metrics.prefilled(this.exchange.model, this.plan.prefill.runtime, this.elapsed);
    if (this.outcome.mayDecode()) this.decode(body, true);
  }

  onPrefillFailure(error: GatewayError, isRepeatable: boolean): void {
    if (error.code !== 'call_upstream_request_error') {
      this.outcome.failed('prefill', error, isRepeatable);
      return;
    }
    const code = isRepeatable ? 'prefill_request_failed' : 'prefill_read_failed';
    const own = new GatewayError(code, error.message, { cause: error });
    this.outcome.failed('prefill', own, isRepeatable);
  }

  retryAnswer(status: number): boolean {
    const { retry, retryableStatusCodes } = this.plan.decode;
    if (this.host.isOver) return true;
    return retryableStatusCodes.has(status) && this.host.again(retry);
  }

  retryFailure(error: GatewayError): void {
    this.outcome.failed('decode', ofDecode(error), true);
  }

  refuse(error: GatewayError): void {
    this.host.refuse(ofDecode(error));
  }

  committed(): void {
    this.host.committed();
  }

  private get elapsed(): number {
    return this.services.now() - this.startedAt;
  }

  /** @param isFilled prefill has answered. */
  private decode(answer: Buffer, isFilled: boolean): void {
    const { host, plan, metrics, exchange } = this;
    const edits = new Map<string, string | undefined>();
    if (isFilled) {
      const params = decodeParams(this.mode, this.connector, this.transferId, answer);
      if (params !== undefined) edits.set('kv_transfer_params', params);
      else if (this.mode === 'nixl') metrics.transferFailed();
    }
    const own = this.withOwn(edits, plan.decodeRank);
    const body = own.size === 0 ? host.bytes : editFields(host.bytes, own);
    const { runtime } = plan.prefill;
    const filledAt = this.elapsed;
    const relay = new UpstreamAttempt(this, plan.decode);
    this.relay = relay;
    relay.start(host.requestTo(plan.decode, body), {
      dispatch: (request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall =>
        this.services.transport.dispatch(
          request,
          new FirstByteTap(handler, () => {
            metrics.began(exchange.model, runtime, this.elapsed);
            if (isFilled) metrics.transferred(exchange.model, runtime, this.elapsed - filledAt);
          }),
        ),
    });
  }

  private get connector(): PrefillConnector {
    const { prefill, prefillRank } = this.plan;
    return {
      kvConnector: prefill.spec.kv_connector,
      kvEngineId: prefill.spec.kv_engine_id,
      host: prefill.host,
      bootstrapPort: prefill.bootstrapPort,
      dpRank: prefillRank,
      dpSize: prefill.dpSize,
      dpSizeLabel: prefill.labels.get('dp_size'),
    };
  }

  /** The edits, and those of a request to any worker. */
  private withOwn(edits: FieldEdits, rank: number | undefined): FieldEdits {
    const all = new Map(edits);
    if (this.plan.model !== undefined) all.set('model', JSON.stringify(this.plan.model));
    if (rank !== undefined) all.set('data_parallel_rank', String(rank));
    return all;
  }
}

function ofDecode(error: GatewayError): GatewayError {
  if (error.code !== 'call_upstream_request_error') return error;
  return new GatewayError('decode_request_failed', error.message, { cause: error });
}
