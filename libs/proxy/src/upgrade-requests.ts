import { type IncomingMessage, type Server } from 'node:http';
import { type Duplex } from 'node:stream';

/** What becomes of requests that ask for another protocol. */
export interface Upgrades {
  /** Whether the request is to leave HTTP; all others are served as if they had not asked. */
  wants(request: IncomingMessage): boolean;
  /** The connection is the callee's, who must end it. @param early bytes behind the head. */
  serve(request: IncomingMessage, socket: Duplex, early: Buffer): void;
}

/** What Node hangs on a server's socket while it reads and answers. */
type ServerSocket = Duplex & {
  readonly _httpMessage?: object | null;
  readonly parser?: {
    onIncoming?: (request: IncomingMessage, keepAlive: boolean) => unknown;
  } | null;
};

/**
 * Takes upgrades out of a server. With an `upgrade` listener Node hands over every request that names
 * any protocol, bodies unread: also the many of clients that offer HTTP/2 in passing. So the parser is
 * told, request by request, to overlook the offer.
 */
export function takeUpgrades(server: Server, upgrades: Upgrades): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, early: Buffer) => {
    upgrades.serve(request, socket, early);
  });
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  server.on(event, (socket: ServerSocket) => {
    const { parser } = socket;
    const read = parser?.onIncoming;
    if (parser === null || parser === undefined || read === undefined) return;
    parser.onIncoming = (request, keepAlive) => {
      const asked = request as IncomingMessage & { upgrade?: boolean };
      // An answer that is still owed on this connection would arrive inside the other protocol.
      const isFree = socket._httpMessage === null || socket._httpMessage === undefined;
      const isOther = request.method !== 'CONNECT' && !(isFree && upgrades.wants(request));
      if (asked.upgrade === true && isOther) asked.upgrade = false;
      return read(request, keepAlive);
    };
  });
}
