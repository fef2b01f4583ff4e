import { type Endpoint } from '@smg/protocol';
import { type JsonObject } from '../../core/request-facts';

// How two SGLang engines find each other for one request. Source: SMG contract 6.1.

/** Sequences of one request beyond which it is refused: each costs the gateway bytes of its own. */
export const MAX_BATCH = 16_384;

const ROOM_MASK = (1n << 63n) - 1n;

/** Where a prefill engine waits for its peers. */
export interface BootstrapAddress {
  /** Host without brackets. */
  readonly host: string;
  readonly port: number | undefined;
}

/** Sequences of a request; undefined for one that is no batch. */
export function batchSizeOf(endpoint: Endpoint, json: JsonObject): number | undefined {
  switch (endpoint) {
    case 'generate':
      return sequencesOf(json['text']) ?? sequencesOf(json['input_ids']);
    case 'completions':
      return sequencesOf(json['prompt']);
    case 'chat':
      return samplesOf(json['n']);
    default:
      return undefined;
  }
}

/** Items of a list of texts or of id lists; a list of ids is one sequence. */
function sequencesOf(value: unknown): number | undefined {
  if (!Array.isArray(value) || value.length === 0 || typeof value[0] === 'number') return undefined;
  return value.length;
}

function samplesOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 1 ? value : undefined;
}

/**
 * The bootstrap fields as JSON texts.
 * @param batch sequences; undefined for one that is no batch.
 * @param room mints a number as its digits.
 */
export function bootstrapFields(
  address: BootstrapAddress,
  batch: number | undefined,
  room: () => string,
): Map<string, string> {
  const host = JSON.stringify(address.host);
  const port = address.port === undefined ? 'null' : String(address.port);
  const texts = (one: () => string): string =>
    batch === undefined ? one() : `[${Array.from({ length: batch }, one).join(',')}]`;
  return new Map([
    ['bootstrap_host', texts(() => host)],
    ['bootstrap_port', texts(() => port)],
    ['bootstrap_room', texts(distinct(room))],
  ]);
}

/** Two sequences in one room would read each other's cache. */
function distinct(room: () => string): () => string {
  const taken = new Set<string>();
  return () => {
    let minted = room();
    while (taken.has(minted)) minted = room();
    taken.add(minted);
    return minted;
  };
}

/** A room number, uniform in 0..2^63-1. @param bytes eight random ones. */
export function roomOf(bytes: Uint8Array): string {
  return (Buffer.from(bytes).readBigUInt64BE() & ROOM_MASK).toString();
}
