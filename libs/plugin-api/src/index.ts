export {
  defineExtensionPoint,
  type ExtensionFactory,
  type ExtensionPoint,
} from './extension-point';
export {
  CANDIDATE_FILTER,
  type CandidateFilter,
  type HeaderReader,
  type RequestRefusal,
} from './candidate-filter';
export {
  ROUTING_POLICY,
  type AssignmentMode,
  type LeastLoadParameters,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
} from './routing-policy';
export {
  ENGINE_ADAPTER,
  ENGINE_CATALOG,
  MEMORY_TAGS,
  type AskEngine,
  type ControlCall,
  type ControlEffect,
  type EngineAdapter,
  type EngineAnswer,
  type EngineCapabilities,
  type EngineCatalog,
  type EngineFacts,
  type EngineRecognition,
  type MemoryTag,
} from './engine-adapter';
export { READINESS_CHECK, type ReadinessCheck } from './readiness-check';
export {
  RESPONSE_INTERCEPTOR,
  ResponseInterceptor,
  attachedInterceptors,
} from './response-interceptor';
export { type Exchange, type ResponseHead } from './exchange';
export {
  type NoCandidatesCause,
  type SelectionContext,
  type SelectionLeg,
  type SelectionOutcome,
} from './selection';
export {
  WORKER_DIRECTORY,
  type WorkerDirectory,
  type WorkerPoolView,
  type WorkerView,
} from './worker-view';
export {
  WORKER_LOADS,
  type RankLoad,
  type WorkerLoadReport,
  type WorkerLoads,
} from './worker-loads';
export {
  WORKER_EVENTS,
  type WorkerEvent,
  type WorkerEventListener,
  type WorkerEvents,
} from './worker-events';
export {
  WORKER_CALLER,
  WorkerCallError,
  type WorkerAnswer,
  type WorkerCall,
  type WorkerCallFailure,
  type WorkerCaller,
} from './worker-caller';
export {
  METRICS,
  type CounterCell,
  type GaugeCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
  type MetricSpec,
} from './metrics';
export { REQUEST_OBSERVER, type RequestObserver, type RequestRecord } from './request-observer';
export { SERVING_AUTH, type ServingAuth, type ServingDecision } from './serving-auth';
export { RELOADABLE, type Reloadable } from './reloadable';
export { readRegularFile } from './read-regular-file';
export { attachPrincipal, principalOf, type Principal } from './principal';
export { AUDIT_LOG, type AuditEntry, type AuditLog } from './audit-log';
export { WORKER_ADDRESSES, type WorkerAddresses } from './worker-addresses';
export {
  ADMISSION,
  ENTRY_CONTROL,
  type Admission,
  type AdmissionRequest,
  type ChargeOutcome,
  type EntryControl,
  type EntryListener,
  type EntryPass,
  type EntryRefusal,
  type TenantCharge,
} from './admission';
export {
  ANSWER_RECORDER,
  type AnswerRecorder,
  type AnswerRecording,
  type RecordedRequest,
} from './answer-recorder';
export { AFFINITY, type Affinity } from './affinity';
export {
  ENGINE_CONTROL,
  type EngineControl,
  type FleetAnswer,
  type FleetCall,
  type FleetReport,
} from './engine-control';
export { REQUEST_TRACKER, type RequestTracker, type TrackedRequest } from './request-tracker';
export {
  WORKER_REGISTRAR,
  type RegistrarAnswer,
  type RegistrationOutcome,
  type WorkerRegistrar,
} from './worker-registrar';
export { LIFECYCLE, type Lifecycle } from './lifecycle';
export { PLUGIN_API_VERSION } from './version';
export { ControlPlane, DataPlane, PLANE_METADATA, Public, type Plane } from './decorators/planes';
export {
  DescribedBy,
  DESCRIPTION_METADATA,
  type RouteDescriptions,
} from './decorators/described-by';
