import { randomBytes } from 'node:crypto';
import { type Duplex } from 'node:stream';
import { FramePipe, type PipeOwner } from './frame-pipe';

/** Milliseconds for the second half of a closing handshake, and of a connection. */
const FAREWELL_MS = 1000;
/** RFC 6455, section 7.4.1: the endpoint goes away. */
const GOING_AWAY = 1001;

/** Told how a tunnel ended; once. */
export interface TunnelOwner {
  /** @param isBroken the engine left without a closing handshake. */
  onTunnelOver(isBroken: boolean): void;
}

/**
 * A client and an engine that speak WebSocket with each other. Frames, pings and close codes pass as they
 * are. When one side goes, the other is told at once; when nothing moves for long, both are.
 */
export class SocketTunnel implements PipeOwner {
  private readonly down: FramePipe;
  private readonly up: FramePipe;
  private idle: NodeJS.Timeout | undefined;
  private farewell: NodeJS.Timeout | undefined;
  private isLeaving = false;
  private isOver = false;

  /** @param idleMs 0 waits for ever. */
  constructor(
    private readonly client: Duplex,
    private readonly engine: Duplex,
    private readonly idleMs: number,
    private readonly owner: TunnelOwner,
  ) {
    this.down = new FramePipe(engine, client, this);
    this.up = new FramePipe(client, engine, this);
  }

  /** @param early bytes the client sent before it had an answer. */
  start(early: Buffer): void {
    const { client, engine } = this;
    for (const socket of [client, engine]) {
      socket.on('error', ignore);
      socket.once('end', this.onHalfOver);
    }
    client.once('close', () => {
      this.finish(false);
    });
    engine.once('close', () => {
      this.finish(!this.down.sawClose && !this.isLeaving);
    });
    if (this.idleMs > 0) {
      this.idle = setTimeout(() => {
        this.leave();
      }, this.idleMs);
    }
    this.down.start();
    this.up.start(early);
    if (client.destroyed) this.finish(false);
    else if (engine.destroyed) this.finish(true);
  }

  /** Ends the session in good order: both sides are told that the gateway goes away. */
  leave(): void {
    if (this.isLeaving || this.isOver) return;
    this.isLeaving = true;
    this.down.leave(GOING_AWAY);
    this.up.leave(GOING_AWAY, randomBytes(4));
    this.armFarewell();
  }

  /** Ends it now. */
  destroy(): void {
    this.client.destroy();
    this.engine.destroy();
  }

  onProgress(): void {
    this.idle?.refresh();
  }

  private readonly onHalfOver = (): void => {
    this.armFarewell();
  };

  private armFarewell(): void {
    this.farewell ??= setTimeout(() => {
      this.destroy();
    }, FAREWELL_MS);
  }

  private finish(isBroken: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.idle);
    clearTimeout(this.farewell);
    this.end();
    this.owner.onTunnelOver(isBroken);
  }

  /** Lets out what is still to be read, but waits for nobody. */
  private end(): void {
    for (const socket of [this.client, this.engine]) {
      if (socket.destroyed) continue;
      if (!socket.writableEnded || !socket.writableFinished) {
        socket.end();
        const timer = setTimeout(() => socket.destroy(), FAREWELL_MS);
        socket.once('close', () => {
          clearTimeout(timer);
        });
      } else socket.destroy();
    }
  }
}

function ignore(): void {
  // 'close' follows.
}
