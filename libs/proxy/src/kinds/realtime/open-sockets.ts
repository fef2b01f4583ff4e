/** Something that can be asked to end. */
export interface Leaver {
  leave(): void;
  destroy(): void;
}

/** WebSocket sessions of this process: a server does not know connections that left HTTP behind. */
export class OpenSockets {
  private readonly open = new Set<Leaver>();

  get size(): number {
    return this.open.size;
  }

  add(socket: Leaver): void {
    this.open.add(socket);
  }

  remove(socket: Leaver): void {
    this.open.delete(socket);
  }

  /** The process drains: sessions end in good order. */
  leaveAll(): void {
    for (const socket of [...this.open]) socket.leave();
  }

  destroyAll(): void {
    for (const socket of [...this.open]) socket.destroy();
  }
}
