export {
  DEFAULT_REQUEST_ID_HEADERS,
  ERROR_CODE,
  MIXED_VERSION,
  PREEMPTED,
  PRIORITY,
  REQUEST_ID,
  ROUTED_WORKER_ID,
  ROUTING_KEY,
  ROUTING_TOKENS,
  SMG_PREFIX,
  TARGET_WORKER,
  TENANT_ID,
  VERSION_POLICY,
  WEIGHT_VERSION,
  WEIGHT_VERSION_START,
} from './headers';
export {
  ERROR_CODES,
  WORKER_API_CODES,
  type ErrorCode,
  type ErrorCodeEntry,
  type ErrorLevel,
  type WorkerApiCode,
} from './error-codes';
export { GatewayError, isGatewayError, type GatewayErrorOptions } from './gateway-error';
export {
  reasonPhrase,
  renderErrorEnvelope,
  renderParseError,
  renderServingUnauthorized,
} from './error-envelope';
export { redactUri } from './redact-uri';
export { readJsonMembers, type JsonKind, type JsonMember } from './json-members';
export { UNKNOWN_MODEL, type Endpoint } from './endpoints';
export {
  CONNECTION_MODES,
  WORKER_STATUSES,
  WORKER_TYPES,
  type ConnectionMode,
  type HealthConfigWire,
  type HttpPoolWire,
  type JobStatusWire,
  type ModelCardWire,
  type OverloadWire,
  type ResilienceWire,
  type WorkerInfoWire,
  type WorkerSpecWire,
  type WorkerStatus,
  type WorkerType,
} from './worker.types';
export { parseUrl } from './parse-url';
export { preferredWait } from './preferred-wait';
