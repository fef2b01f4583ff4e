import {
  type Admission,
  type EntryControl,
  type AnswerRecorder,
  type HeaderReader,
  type Lifecycle,
  type RequestObserver,
  type RequestRefusal,
  type RequestTracker,
  type SelectionContext,
  type SelectionOutcome,
  type ServingAuth,
  type WorkerDirectory,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { type Worker } from '@smg/registry';
import { type UpstreamTransport } from '@smg/upstream';
import { type PairServices } from './pd/pair.services';
import { type ProxyOptions } from './proxy.options';
import { type RouterMetrics } from './router.metrics';

/** The part of a registry worker that an attempt needs. */
export type RoutableWorker = WorkerView &
  Pick<
    Worker,
    | 'apiKey'
    | 'bootstrapPort'
    | 'host'
    | 'spec'
    | 'retry'
    | 'retryableStatusCodes'
    | 'requestTimeoutMs'
    | 'beginRequest'
    | 'endRequest'
    | 'recordOutcome'
    | 'recordTransportFailure'
  >;

/** Chooses a worker; `WorkerSelector` of the policy lib. */
export interface Selector {
  /** Whether `refusalOf` can ever refuse. */
  readonly refusesRequests: boolean;
  refusalOf(header: HeaderReader): RequestRefusal | undefined;
  select(pool: WorkerPoolView, context: SelectionContext, avoid?: WorkerView): SelectionOutcome;
  /** The workers that are available and pass every filter; one of them is then picked. */
  eligible(
    pool: WorkerPoolView,
    context: SelectionContext,
  ): readonly WorkerView[] | Exclude<SelectionOutcome, { readonly kind: 'selected' }>;
  pick(
    pool: WorkerPoolView,
    eligible: readonly WorkerView[],
    context: SelectionContext,
    avoid?: WorkerView,
  ): SelectionOutcome;
  /** The worker with the fewest requests in flight, whatever the policy. */
  leastBusy(pool: WorkerPoolView, context: SelectionContext): SelectionOutcome;
  /** Whether the policy of a model goes by what is in bodies. */
  readsBody(model: string): boolean;
}

/** What every request of the data plane shares. */
export interface RunServices {
  readonly options: ProxyOptions;
  readonly directory: WorkerDirectory;
  readonly selector: Selector;
  readonly transport: UpstreamTransport;
  readonly auth: ServingAuth;
  /** Undefined while nothing limits requests. */
  readonly admission?: Admission | undefined;
  /** Undefined while nothing limits the requests in flight. */
  readonly entry?: EntryControl | undefined;
  /** Undefined while there are no pairs of prefill and decode workers. */
  readonly pairs?: PairServices | undefined;
  /** Undefined while nobody asks where requests are. */
  readonly tracker?: RequestTracker | undefined;
  /** Undefined while no answer is kept. */
  readonly recorder?: AnswerRecorder | undefined;
  readonly observer: RequestObserver;
  readonly lifecycle: Lifecycle;
  readonly metrics: RouterMetrics;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** A fault of the gateway or of a plug-in, with its cause and the request it befell. */
  readonly logFault: (message: string, cause: unknown, requestId: string) => void;
}
