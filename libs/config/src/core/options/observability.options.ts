import { choice } from '../kinds/choices';
import { flag, list, one, optional, refine } from '../kinds/combine';
import { positive, u16 } from '../kinds/numbers';
import { filled, host } from '../kinds/texts';
import { inert, option, unavailable } from '../option';
import { good } from '../parsed';

/** Order and repeats mean nothing; a histogram needs them ascending and distinct. */
const buckets = refine(list(positive('f64')), '> 0', (values) =>
  good([...new Set(values)].sort((left, right) => left - right)),
);

/** Logs, metrics, traces. */
export const OBSERVABILITY_OPTIONS = [
  option('observability.logLevel', 'log-level', one(choice(['debug', 'info', 'warn', 'error'])), {
    default: 'info',
    doc: 'Least severe level that is logged.',
  }),
  option('observability.logJson', 'log-json', flag, {
    default: false,
    doc: 'JSON log lines. Logs are always JSON lines here, with or without the flag.',
  }),
  option('observability.prometheusPort', 'prometheus-port', one(u16(1)), {
    default: 29_000,
    doc: 'Port of `GET /metrics`; differs from --port and --health-check-port.',
  }),
  option('observability.prometheusHost', 'prometheus-host', one(host), {
    default: '0.0.0.0',
    doc: 'Address of the metrics port.',
  }),
  option('observability.prometheusDurationBuckets', 'prometheus-duration-buckets', buckets, {
    default: [],
    defaultText: 'built-in buckets, 1 ms to 2 h',
    doc: 'Upper bounds, in seconds, of the buckets of duration histograms.',
  }),
  inert('disable-load-monitoring', flag, {
    default: false,
    doc: 'Do not poll workers for their load unless something needs it.',
    because:
      'workers are only ever polled while a policy, overload protection or engine metrics need it',
  }),
  unavailable('log-dir', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Directory of daily log files.',
  }),
  unavailable('enable-trace', flag, { default: false, doc: 'Send OpenTelemetry traces.' }),
  unavailable('otlp-traces-endpoint', one(filled('host:port')), {
    default: 'localhost:4317',
    doc: 'Collector of traces; port 1..=65535.',
  }),
] as const;
