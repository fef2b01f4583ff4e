import { DEFAULT_REQUEST_ID_HEADERS } from '@smg/protocol';
import { choice, onOff } from '../kinds/choices';
import { flag, list, one, optional } from '../kinds/combine';
import { i32, integer, seconds, usize } from '../kinds/numbers';
import { origin } from '../kinds/origin';
import { filled, headerName, text } from '../kinds/texts';
import { option, unavailable } from '../option';
import { bad, good } from '../parsed';
import { show } from '../show';

const headerPair = text({
  label: 'header=key',
  rule: 'both sides non-empty, every key once',
  check: (value) =>
    /^[^=]+=.+$/.test(value) ? good(value) : bad(`${show(value)} is not header=key`),
});

const errorStatus = integer({ label: 'status', min: 400, max: 599 });

/** Bodies, deadlines and identity of requests. */
export const REQUEST_OPTIONS = [
  option('requests.timeoutSecs', 'request-timeout-secs', one(seconds(1)), {
    default: 1800,
    doc: 'Total budget of one attempt at an engine, its body included.',
  }),
  option('requests.maxPayloadSize', 'max-payload-size', one(usize(1)), {
    default: 536_870_912,
    doc: 'Bytes of a request body, and of an engine body that is buffered.',
  }),
  option('requests.streamBodyStallTimeoutSecs', 'stream-body-stall-timeout-secs', one(seconds()), {
    default: 300,
    doc: 'Longest time a client may stop reading its answer before it is cut; 0 disables it.',
  }),
  option('requests.bodyIdleTimeoutSecs', 'body-idle-timeout-secs', one(seconds()), {
    default: 30,
    ours: true,
    doc: "Longest pause of a client's upload that is buffered; 0 disables it.",
  }),
  option(
    'requests.upstreamPoolIdleTimeoutSecs',
    'upstream-pool-idle-timeout-secs',
    one(seconds()),
    { default: 3, doc: 'Idle time after which a connection to an engine is closed; 0 keeps it.' },
  ),
  option('requests.shutdownGracePeriodSecs', 'shutdown-grace-period-secs', one(seconds()), {
    default: 180,
    doc: 'Time from a stop signal to the end, for requests in flight.',
  }),
  option('requests.requestIdHeaders', 'request-id-headers', list(headerName), {
    default: DEFAULT_REQUEST_ID_HEADERS,
    doc: 'Headers read for a request id, in order; replaces the default list.',
  }),
  option('requests.hotLane', 'hot-lane', one(onOff), {
    default: true,
    defaultText: '`on`',
    ours: true,
    doc: 'Serve inference routes beside the Nest router; `off` sends them through it.',
  }),
  option('requests.streamRequestBodiesOver', 'stream-request-bodies-over', one(usize()), {
    default: 0,
    doc: 'Bytes above which a body may pass through unread instead of being held; 0 is off; below --max-payload-size.',
  }),
  option('requests.realtimeIdleTimeoutSecs', 'realtime-idle-timeout-secs', one(seconds()), {
    default: 600,
    ours: true,
    doc: 'Time without a byte either way after which a realtime socket is closed; 0 disables it.',
  }),
  option('requests.tracksIds', 'track-request-ids', flag, {
    default: false,
    ours: true,
    doc: 'Remember which engine has a request that carries a `rid`, so that `/abort_request` asks that one alone.',
  }),
  option('requests.noEligibleStatus', 'no-eligible-status', optional(one(errorStatus)), {
    default: undefined,
    defaultText: '503',
    ours: true,
    doc: 'Status of an inference request that no engine may take now.',
  }),
  option('requests.backendFailedStatus', 'backend-failed-status', optional(one(errorStatus)), {
    default: undefined,
    defaultText: '500, 502 or 504, by what happened',
    ours: true,
    doc: 'Status of an inference request whose engine failed to answer; what an engine answers itself is relayed as it is.',
  }),
  unavailable('storage-context-headers', list(headerPair), {
    default: [],
    doc: 'Headers kept with stored conversations.',
  }),
  option('tenants.trustHeader', 'trust-tenant-header', flag, {
    default: false,
    doc: 'Take the tenant from a request header when no tenant key names it.',
  }),
  option('tenants.headerName', 'tenant-header-name', one(headerName), {
    default: 'x-smg-tenant-id',
    doc: 'Header of the tenant.',
  }),
  option('listener.corsAllowedOrigins', 'cors-allowed-origins', list(origin), {
    default: [],
    defaultText: 'any origin',
    doc: 'Origins a browser may call from.',
  }),
  unavailable('webrtc-bind-addr', optional(one(filled())), {
    default: undefined,
    doc: 'Address of WebRTC sessions.',
  }),
  unavailable('webrtc-stun-server', one(filled()), {
    default: 'stun.l.google.com:19302',
    doc: 'STUN server; `none` disables it.',
  }),
] as const;

/** How many requests are let in. */
export const ADMISSION_OPTIONS = [
  option('admission.maxConcurrentRequests', 'max-concurrent-requests', one(i32()), {
    default: -1,
    doc: 'Requests in flight; 0 or less is no limit.',
  }),
  option('admission.queueSize', 'queue-size', one(usize()), {
    default: 100,
    doc: 'Requests that may wait while --max-concurrent-requests are in flight.',
  }),
  option('admission.queueTimeoutSecs', 'queue-timeout-secs', one(seconds()), {
    default: 60,
    doc: 'Longest wait; above 0 when --queue-size is.',
  }),
  option('admission.refillPerSecond', 'rate-limit-tokens-per-second', optional(one(i32(0))), {
    default: undefined,
    doc: 'With --max-concurrent-requests: permits that come back each second, besides those of requests that end.',
  }),
  option('admission.schedulerEnabled', 'priority-scheduler-enabled', flag, {
    default: false,
    doc: 'Admit by priority class, in place of --max-concurrent-requests.',
  }),
  option(
    'admission.schedulerDefaultMaxClass',
    'priority-scheduler-default-max-class',
    one(choice(['system', 'interactive', 'default', 'bulk'])),
    { default: 'default', doc: 'Highest class of a tenant without a policy.' },
  ),
  option('admission.schedulerConfig', 'priority-scheduler-config', optional(one(filled('path'))), {
    default: undefined,
    doc: 'YAML file of classes and tenant policies; read again on SIGHUP.',
  }),
  option(
    'admission.schedulerTenantMetricTopN',
    'priority-scheduler-tenant-metric-top-n',
    one(usize()),
    {
      default: 32,
      doc: 'Tenants with metric series of their own; the others share one.',
    },
  ),
  option('tenants.rateLimitEnabled', 'tenant-rate-limit-enabled', flag, {
    default: false,
    doc: 'Limit requests and tokens per tenant.',
  }),
  option('tenants.rateLimitConfig', 'tenant-rate-limit-config', optional(one(filled('path'))), {
    default: undefined,
    doc: 'YAML file of limits per tenant; needed with --tenant-rate-limit-enabled; read again on SIGHUP.',
  }),
] as const;
