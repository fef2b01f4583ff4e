import { GatewayError } from '@smg/protocol';
import {
  readResponseHeaders,
  type UpgradeHandler,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamRequest,
  type UpstreamTransport,
  type UpstreamTunnel,
} from '@smg/upstream';
import { upstreamError } from '../../gateway-reply';
import { type RoutableWorker } from '../../run.services';
import { acceptOf } from '../core/websocket-handshake';
import { acceptIn } from './socket-heads';

/** Milliseconds for the engine's part of the handshake. */
const HANDSHAKE_MS = 30_000;
/** Bytes of an answer that is none to a handshake. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** An ordinary answer in place of a tunnel. */
export interface EngineAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** Hears how the handshake with an engine ends; once. */
export interface HandshakeOwner {
  onEngineTunnel(tunnel: UpstreamTunnel): void;
  onEngineAnswer(answer: EngineAnswer): void;
  onEngineFailure(error: GatewayError): void;
}

/** The handshake with one engine. */
export class EngineHandshake implements UpgradeHandler, UpstreamCall {
  private call: UpstreamCall | undefined;
  private deadline: NodeJS.Timeout | undefined;
  private status = 0;
  private contentType = '';
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private isSettled = false;

  /** @param key the client's. */
  constructor(
    private readonly owner: HandshakeOwner,
    private readonly key: string,
    private readonly worker: RoutableWorker,
  ) {}

  start(transport: UpstreamTransport, request: UpstreamRequest): this {
    const limit = Math.min(HANDSHAKE_MS, this.worker.requestTimeoutMs);
    this.deadline = setTimeout(() => {
      this.abortWith(new GatewayError('call_upstream_timeout', 'no handshake in time'));
    }, limit);
    this.call = transport.upgrade(request, 'websocket', this);
    return this;
  }

  get hasAnswered(): boolean {
    return this.call?.hasAnswered === true;
  }

  abort(): void {
    this.settle();
    this.call?.abort();
  }

  resume(): void {
    this.call?.resume();
  }

  onTunnel(tunnel: UpstreamTunnel): void {
    if (!this.settle()) {
      tunnel.socket.on('error', ignore);
      tunnel.socket.destroy();
      return;
    }
    if (acceptIn(tunnel.rawHeaders) === acceptOf(this.key)) {
      this.owner.onEngineTunnel(tunnel);
      return;
    }
    tunnel.socket.on('error', ignore);
    tunnel.socket.destroy();
    this.owner.onEngineFailure(
      new GatewayError(
        'upstream_invalid_response',
        `${this.worker.baseUrl}: the engine has not read the handshake`,
      ),
    );
  }

  onHead(status: number, rawHeaders: readonly string[]): void {
    this.status = status;
    this.contentType = readResponseHeaders(rawHeaders).contentType;
  }

  onData(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.bytes <= MAX_ANSWER_BYTES) this.chunks.push(chunk);
    else {
      const message = 'the answer to the handshake is too large';
      this.abortWith(new GatewayError('upstream_response_too_large', message));
    }
    return true;
  }

  onEnd(): void {
    if (!this.settle()) return;
    if (this.status < 300) {
      const message = `${this.worker.baseUrl}: status ${this.status} in answer to a handshake`;
      this.owner.onEngineFailure(new GatewayError('upstream_invalid_response', message));
      return;
    }
    const { status, contentType } = this;
    this.owner.onEngineAnswer({ status, contentType, body: Buffer.concat(this.chunks) });
  }

  onError(failure: UpstreamFailure): void {
    if (this.settle()) this.owner.onEngineFailure(upstreamError(failure, this.worker.baseUrl));
  }

  private abortWith(error: GatewayError): void {
    if (!this.settle()) return;
    this.call?.abort();
    this.owner.onEngineFailure(error);
  }

  private settle(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    clearTimeout(this.deadline);
    return true;
  }
}

function ignore(): void {
  // It is being closed.
}
