import { createHash } from 'node:crypto';
import { type ClientHead } from '../../core/client-head';

/** RFC 6455, section 1.3. */
const ACCEPT_SALT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Sixteen bytes in base64; the last digit holds two bits. */
const KEY = /^[0-9A-Za-z+/]{21}[AQgw]==$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** How pages name their key: a browser lets them set no header. */
const KEY_PROTOCOL = 'openai-insecure-api-key.';

/** An opening handshake that may go on to an engine. */
export interface OpeningHandshake {
  readonly key: string;
  /** Subprotocols offered, without a key among them. */
  readonly protocols: readonly string[];
  /** Key offered as a subprotocol. */
  readonly protocolKey: string | undefined;
  readonly extensions: string | undefined;
}

export type HandshakeResult =
  | { readonly ok: true; readonly handshake: OpeningHandshake }
  | { readonly ok: false; readonly problem: string; readonly isVersion: boolean };

/** Whether a request asks for a WebSocket, well or badly. */
export function asksForWebSocket(head: ClientHead): boolean {
  const upgrade = head.header('upgrade');
  return upgrade !== undefined && listOf(upgrade).some((it) => it.toLowerCase() === 'websocket');
}

/** Reads the client's part of the handshake; strict, as the bytes after it are not looked at. */
export function readHandshake(head: ClientHead): HandshakeResult {
  if (head.header('sec-websocket-version') !== '13') return version();
  const key = head.header('sec-websocket-key') ?? '';
  if (!KEY.test(key)) return bad('Sec-WebSocket-Key must be 16 bytes in base64');
  if (head.header('upgrade')?.toLowerCase() !== 'websocket')
    return bad('Upgrade must be websocket');
  if (head.hasBody) return bad('a WebSocket handshake has no body');
  const offered = listOf(head.header('sec-websocket-protocol') ?? '');
  if (!offered.every((it) => TOKEN.test(it)) || new Set(offered).size < offered.length) {
    return bad('Sec-WebSocket-Protocol must be a list of different tokens');
  }
  const protocolKey = offered.find((it) => it.startsWith(KEY_PROTOCOL));
  return {
    ok: true,
    handshake: {
      key,
      protocols: offered.filter((it) => !it.startsWith(KEY_PROTOCOL)),
      protocolKey: protocolKey?.slice(KEY_PROTOCOL.length),
      extensions: head.header('sec-websocket-extensions'),
    },
  };
}

/** What the engine must say to prove that it has read the key. */
export function acceptOf(key: string): string {
  return createHash('sha1')
    .update(key + ACCEPT_SALT)
    .digest('base64');
}

function listOf(value: string): string[] {
  const items = value.split(',').map((it) => it.trim());
  return items.filter((it) => it !== '');
}

const bad = (problem: string): HandshakeResult => ({ ok: false, problem, isVersion: false });
const version = (): HandshakeResult => ({
  ok: false,
  problem: 'Sec-WebSocket-Version must be 13',
  isVersion: true,
});
