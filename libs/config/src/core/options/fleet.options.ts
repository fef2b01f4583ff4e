import { append, flag, list, one, optional } from '../kinds/combine';
import { seconds, u16, usize } from '../kinds/numbers';
import { filled, text } from '../kinds/texts';
import { versionPolicy } from '../kinds/version-policy';
import { workerUrl } from '../kinds/worker-url';
import { option, unavailable } from '../option';
import { bad, good } from '../parsed';
import { show } from '../show';

const labelPair = text({
  label: 'key=value',
  rule: 'a label and its value',
  check: (value) =>
    /^[^=]+=.*$/.test(value) ? good(value) : bad(`${show(value)} is not key=value`),
});

/** Words of `--prefill` and `--encode`: URLs, each perhaps followed by its bootstrap port. */
const legEndpoint = text({
  label: 'URL [port|none]',
  rule: 'a worker URL, then a bootstrap port 1..=65535 or none',
  check: (word) => {
    if (word.toLowerCase() === 'none') return good('none');
    if (/^\d+$/.test(word)) return u16(1).parse(word).ok ? good(word) : bad(`${word} is no port`);
    return workerUrl.parse(word);
  },
});

const modelIdSource = text({
  label: 'string',
  rule: 'namespace, label:<key> or annotation:<key>',
  check: (value) =>
    /^(namespace|(label|annotation):.+)$/i.test(value)
      ? good(value)
      : bad(`${show(value)} is not namespace, label:<key> or annotation:<key>`),
});

/** Prefill/decode disaggregation. */
export const PD_OPTIONS = [
  option('pd.enabled', 'pd-disaggregation', flag, {
    default: false,
    doc: 'Send prefill and decode to different engines.',
  }),
  option('pd.prefill', 'prefill', append(legEndpoint), {
    default: [],
    doc: 'Prefill engine, and after it its bootstrap port, if it has one.',
  }),
  option('pd.decode', 'decode', append(workerUrl), { default: [], doc: 'Decode engine.' }),
  unavailable('encode', append(legEndpoint), {
    default: [],
    doc: 'Encode engine and its bootstrap port.',
  }),
  unavailable('epd-disaggregation', flag, {
    default: false,
    doc: 'Send encode, prefill and decode to different engines.',
  }),
] as const;

/** Workers found in Kubernetes. */
export const DISCOVERY_OPTIONS = [
  unavailable('service-discovery', flag, {
    default: false,
    doc: 'Follow Kubernetes pods as workers.',
  }),
  unavailable('selector', list(labelPair), { default: [], doc: 'Pod labels of workers.' }),
  unavailable('prefill-selector', list(labelPair), {
    default: [],
    doc: 'Pod labels of prefill workers.',
  }),
  unavailable('decode-selector', list(labelPair), {
    default: [],
    doc: 'Pod labels of decode workers.',
  }),
  unavailable('encode-selector', list(labelPair), {
    default: [],
    doc: 'Pod labels of encode workers.',
  }),
  unavailable('router-selector', list(labelPair), {
    default: [],
    doc: 'Pod labels of other gateways.',
  }),
  unavailable('service-discovery-port', one(u16(1)), {
    default: 80,
    doc: 'Port of pods without a ports annotation.',
  }),
  unavailable('service-discovery-namespace', optional(one(filled())), {
    default: undefined,
    defaultText: 'all namespaces',
    doc: 'Namespace watched.',
  }),
  unavailable('model-id-from', optional(one(modelIdSource)), {
    default: undefined,
    doc: 'Where the model id of a pod comes from.',
  }),
] as const;

/** State shared between gateways. */
export const MESH_OPTIONS = [
  unavailable('enable-mesh', flag, { default: false, doc: 'Share state with other gateways.' }),
  unavailable(
    'mesh-server-name',
    optional(
      one(
        text({
          label: 'string',
          rule: 'non-empty, no colon',
          check: (value) =>
            value !== '' && !value.includes(':')
              ? good(value)
              : bad(`${show(value)} is empty or holds a colon`),
        }),
      ),
    ),
    {
      default: undefined,
      defaultText: '`Mesh_` and four random characters',
      doc: 'Name of this gateway in the mesh.',
    },
  ),
  unavailable('mesh-host', one(filled()), { default: '0.0.0.0', doc: 'Address of the mesh port.' }),
  unavailable('mesh-advertise-host', optional(one(filled())), {
    default: undefined,
    doc: 'Address told to peers; needed when --mesh-host is unspecified.',
  }),
  unavailable('mesh-port', one(u16(1)), { default: 39_527, doc: 'Port peers speak to.' }),
  unavailable('mesh-peer-urls', list(filled()), { default: [], doc: 'Peers to join.' }),
] as const;

/** Reinforcement-learning control plane. */
export const RL_OPTIONS = [
  option('rl.enabled', 'enable-rl', flag, {
    default: false,
    doc: 'Mount the control plane under `/v1/rl` and route by weight version.',
  }),
  option('rl.controlTimeoutSecs', 'rl-control-timeout-secs', one(seconds()), {
    default: 600,
    doc: 'Total deadline of one proxied engine call; at least 1 with --enable-rl.',
  }),
  option('rl.fanoutConcurrency', 'rl-fanout-concurrency', one(usize()), {
    default: 32,
    doc: 'Engine calls in flight within one fan-out; at least 1 with --enable-rl.',
  }),
  option('rl.versionPolicy', 'rl-version-policy', one(versionPolicy), {
    default: 'any',
    doc: 'Default version policy: `any`, `latest-only`, `min-version:<v>` or `max-staleness:<k>`; needs --enable-rl.',
  }),
  option('rl.routerVerbs', 'rl-router-verbs', flag, {
    default: false,
    ours: true,
    doc: 'Answer control routes of engines (`/pause`, `/update_weights_from_disk`, …) at the root, for the whole fleet; needs --enable-rl.',
  }),
] as const;
