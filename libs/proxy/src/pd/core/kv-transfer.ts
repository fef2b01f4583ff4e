import { type Endpoint, readJsonMembers } from '@smg/protocol';
import { type JsonObject } from '../../core/request-facts';
import { type FieldEdits } from './field-edits';

// How two vLLM engines hand a KV cache over for one request. Source: SMG contract 6.2.

/** How the prefill engine is told, and the decode engine tells where the cache is. */
export type ConnectorMode = 'mooncake' | 'nixl' | 'passthrough';

/** Port of a Mooncake bootstrap server that none is known of. */
const DEFAULT_BOOTSTRAP_PORT = 8998;

const PARAMS = 'kv_transfer_params';

/** What is known of a prefill engine's connector. */
export interface PrefillConnector {
  readonly kvConnector: string | undefined;
  readonly kvEngineId: string | undefined;
  readonly host: string;
  readonly bootstrapPort: number | undefined;
  readonly dpRank: number | undefined;
  readonly dpSize: number | undefined;
  /** The label `dp_size`. */
  readonly dpSizeLabel: string | undefined;
}

export function connectorMode(kvConnector: string | undefined): ConnectorMode {
  if (kvConnector === 'MooncakeConnector') return 'mooncake';
  return kvConnector === 'NixlConnector' ? 'nixl' : 'passthrough';
}

/** More than one answer to one prompt: prefill would be done for nothing. */
export function wantsSeveral(json: JsonObject): boolean {
  const n = json['n'];
  return typeof n === 'number' && n > 1;
}

/** What makes a request one that only fills the cache: one token, in one piece. */
export function prefillEdits(
  endpoint: Endpoint,
  json: JsonObject,
  mode: ConnectorMode,
  transferId: string,
): FieldEdits {
  const edits = new Map<string, string | undefined>([
    ['stream', 'false'],
    ['stream_options', undefined],
    ['min_tokens', undefined],
  ]);
  if (json['n'] !== undefined) edits.set('n', '1');
  if (endpoint === 'responses') edits.set('max_output_tokens', '1');
  else if (endpoint === 'chat' && json['max_completion_tokens'] !== undefined) {
    edits.set('max_completion_tokens', '1');
    edits.set('max_tokens', undefined);
  } else edits.set('max_tokens', '1');
  const params = { do_remote_decode: true, do_remote_prefill: false };
  if (mode === 'mooncake') {
    edits.set(PARAMS, JSON.stringify({ ...params, transfer_id: transferId }));
  } else if (mode === 'nixl') edits.set(PARAMS, JSON.stringify(params));
  return edits;
}

/**
 * Where the decode engine finds the cache, as JSON text.
 * @param answer of the prefill engine.
 * @returns undefined when that cannot be said: decode then reads the prompt again.
 */
export function decodeParams(
  mode: ConnectorMode,
  connector: PrefillConnector,
  transferId: string,
  answer: Buffer,
): string | undefined {
  return mode === 'mooncake' ? mooncakeParams(connector, transferId) : returnedParams(answer);
}

/** Bytes of the parameters go on as the engine wrote them, block ids and all. */
function returnedParams(answer: Buffer): string | undefined {
  const params = readJsonMembers(answer, [PARAMS])?.get(PARAMS);
  return params?.kind === 'object' ? params.lexeme : undefined;
}

function mooncakeParams(connector: PrefillConnector, transferId: string): string | undefined {
  const engine = engineOf(connector);
  if (engine === undefined) return undefined;
  const { host, bootstrapPort = DEFAULT_BOOTSTRAP_PORT } = connector;
  const authority = host.includes(':') ? `[${host}]` : host;
  return JSON.stringify({
    do_remote_decode: false,
    do_remote_prefill: true,
    transfer_id: transferId,
    remote_engine_id: engine,
    remote_bootstrap_addr: `http://${authority}:${bootstrapPort}`,
  });
}

/** The engine's id, of one rank where there are several; undefined when the rank is not known. */
function engineOf(connector: PrefillConnector): string | undefined {
  const { kvEngineId, dpRank, dpSizeLabel } = connector;
  if (kvEngineId === undefined || kvEngineId === '') return undefined;
  const isLabelBad = dpSizeLabel !== undefined && !/^\d{1,9}$/.test(dpSizeLabel);
  if (connector.dpSize === undefined && isLabelBad) return undefined;
  const size = connector.dpSize ?? Number(dpSizeLabel ?? 1);
  if (size <= 1) return kvEngineId;
  return dpRank === undefined ? undefined : `${kvEngineId}_dp${dpRank}`;
}

/** `xfer-` and a UUIDv7. @param random ten random bytes. */
export function transferIdOf(nowMs: number, random: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.trunc(nowMs), 0, 6);
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  const groups = [0, 8, 12, 16, 20].map((at, index, all) => hex.slice(at, all[index + 1]));
  return `xfer-${groups.join('-')}`;
}
