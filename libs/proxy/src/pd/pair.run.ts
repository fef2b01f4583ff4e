import { GatewayError } from '@smg/protocol';
import { type SelectionOutcome, type WorkerPoolView, type WorkerView } from '@smg/plugin-api';
import { type JsonObject } from '../core/request-facts';
import { refusalOfChosen } from '../chosen-earlier';
import { asGatewayError } from '../gateway-reply';
import { DEFAULT_SELECTION_RETRY, type SelectionRetry } from '../proxy.options';
import { type RoutableWorker } from '../run.services';
import { shedAtDispatch, shedAtSelection } from '../selection-answers';
import { batchSizeOf, bootstrapFields, MAX_BATCH } from './core/bootstrap';
import { refusalEvent } from './core/leg-errors';
import { isSequential, peersOf, withPeers } from './core/pairing';
import { DualAttempt } from './dual.attempt';
import { type PairHost, type PairOutcome, type PairPlan } from './pair-host';
import { type PairServices } from './pair.services';
import { type PairPools } from './pair.target';
import { SequentialAttempt } from './sequential.attempt';

type Leg = 'prefill' | 'decode';
type Nobody = Exclude<SelectionOutcome, { readonly kind: 'selected' }>;
type Pair = readonly [prefill: RoutableWorker, decode: RoutableWorker];

/** A request to a pair of workers: selection of both legs, attempts, and what follows their failures. */
export class PairRun implements PairOutcome {
  private readonly avoided: Record<Leg, WorkerView | undefined> = {
    prefill: undefined,
    decode: undefined,
  };
  private current: Pair | undefined;

  /** @param namesModel the body names a model, which is written as its canonical id. */
  constructor(
    private readonly host: PairHost,
    private readonly shared: PairServices,
    private readonly pools: PairPools,
    private readonly json: JsonObject,
    private readonly namesModel: boolean,
  ) {}

  /** The next attempt. */
  next(): void {
    const pair = this.select();
    this.avoided.prefill = undefined;
    this.avoided.decode = undefined;
    if (pair === undefined) return;
    for (const worker of pair) {
      const shed = shedAtDispatch(worker, this.host.services);
      if (shed !== undefined) {
        this.host.reply(shed, false);
        return;
      }
    }
    this.dispatch(pair);
  }

  failed(leg: Leg, error: GatewayError, isRepeatable: boolean): void {
    const worker = this.workerOf(leg);
    if (isRepeatable && worker !== undefined) {
      this.avoided[leg] = worker;
      if (this.host.again(worker.retry)) return;
    }
    this.host.reply(error, true);
  }

  refused(leg: Leg, error: GatewayError, status: number): void {
    const worker = this.workerOf(leg);
    if (worker?.retryableStatusCodes.has(status) === true && this.host.again(worker.retry)) return;
    // Of a stream that decode refused, the client is told in the stream's own words.
    if (leg === 'decode' && this.host.exchange.wantsStream) {
      this.host.replyEvent(error, status, refusalEvent(error.message, status));
    } else this.host.reply(error, true);
  }

  mayDecode(): boolean {
    const worker = this.workerOf('decode');
    const pool = this.pools.decode;
    if (worker === undefined || pool === undefined) return false;
    const { services, exchange } = this.host;
    try {
      const refusal = refusalOfChosen(services, exchange, worker);
      if (refusal === undefined) return true;
      this.nobody(describe('decode', pool, refusal));
    } catch (error) {
      this.host.reply(asGatewayError(error), false);
    }
    return false;
  }

  private workerOf(leg: Leg): RoutableWorker | undefined {
    return this.current?.[leg === 'prefill' ? 0 : 1];
  }

  private dispatch(pair: Pair): void {
    const { host, shared } = this;
    const [prefill, decode] = pair;
    const batch = isSequential(prefill)
      ? undefined
      : batchSizeOf(host.exchange.endpoint, this.json);
    if (batch !== undefined && batch > MAX_BATCH) {
      const message = `a pair of workers takes at most ${MAX_BATCH} sequences, not ${batch}`;
      host.reply(new GatewayError('invalid_request', message), false);
      return;
    }
    this.current = pair;
    host.exchange.routedWorker = decode;
    for (const interceptor of host.interceptors) interceptor.onDispatch(host.exchange);
    const plan: PairPlan = {
      json: this.json,
      model: this.namesModel ? host.exchange.model : undefined,
      prefill,
      decode,
      prefillRank: shared.ranks.rankOf(prefill, host.exchange),
      decodeRank: shared.ranks.rankOf(decode, host.exchange),
    };
    if (isSequential(prefill)) {
      const attempt = new SequentialAttempt(host, plan, this, shared.metrics, shared.transferId());
      host.attempt = attempt;
      attempt.start();
      return;
    }
    const address = { host: prefill.host, port: prefill.bootstrapPort };
    const fields = bootstrapFields(address, batch, shared.room);
    if (plan.model !== undefined) fields.set('model', JSON.stringify(plan.model));
    const attempt = new DualAttempt(host, plan, this, shared.metrics);
    host.attempt = attempt;
    attempt.start(fields);
  }

  /** Filters first, on both legs; then peers; then each leg's policy. */
  private select(): Pair | undefined {
    const { prefill, decode } = this.pools;
    if (prefill === undefined || decode === undefined) {
      const missing = prefill === undefined ? 'prefill' : 'decode';
      this.nobody(unusable(`no ${missing} worker is registered`));
      return undefined;
    }
    const fillers = this.eligible('prefill', prefill);
    const decoders = fillers && this.eligible('decode', decode);
    if (fillers === undefined || decoders === undefined) return undefined;
    const [paired, peers] = withPeers([fillers, decoders]);
    if (paired.length === 0) {
      this.nobody(unusable('no prefill and decode worker run on the same engine'));
      return undefined;
    }
    const filler = this.pick('prefill', prefill, paired);
    const decoder = filler && this.pick('decode', decode, peersOf(filler, peers));
    return filler === undefined || decoder === undefined ? undefined : [filler, decoder];
  }

  private eligible(leg: Leg, pool: WorkerPoolView): readonly WorkerView[] | undefined {
    const { services, exchange } = this.host;
    exchange.leg = leg;
    const eligible = services.selector.eligible(pool, exchange);
    if (!('kind' in eligible)) return eligible;
    this.refuse(leg, pool, eligible);
    return undefined;
  }

  private pick(
    leg: Leg,
    pool: WorkerPoolView,
    eligible: readonly WorkerView[],
  ): RoutableWorker | undefined {
    const { services, exchange } = this.host;
    exchange.leg = leg;
    const outcome = services.selector.pick(pool, eligible, exchange, this.avoided[leg]);
    // The directory of this process holds registry workers only.
    if (outcome.kind === 'selected') return outcome.worker as RoutableWorker;
    this.refuse(leg, pool, outcome);
    return undefined;
  }

  private refuse(leg: Leg, pool: WorkerPoolView, outcome: Nobody): void {
    const shed = shedAtSelection(pool, outcome, this.host.services);
    if (shed !== undefined) this.host.reply(shed, false);
    else this.nobody(describe(leg, pool, outcome));
  }

  private nobody(error: GatewayError): void {
    const { retry, retriesDisabled } = this.host.services.options;
    const settings: SelectionRetry = retry ?? DEFAULT_SELECTION_RETRY;
    if (retriesDisabled || !this.host.again(settings)) this.host.reply(error, false);
  }
}

function unusable(reason: string): GatewayError {
  return new GatewayError('server_selection_failed', `No available servers: ${reason}`);
}

function describe(leg: Leg, pool: WorkerPoolView, outcome: Nobody): GatewayError {
  if (outcome.kind === 'all_filtered') {
    const message = `no ${leg} worker is eligible for model '${pool.model}': ${outcome.reason}`;
    return new GatewayError(outcome.code, message);
  }
  return unusable(
    outcome.cause === 'unavailable'
      ? `every ${leg} worker is unavailable (circuit breaker open or unhealthy)`
      : `the routing policy declined every ${leg} worker`,
  );
}
