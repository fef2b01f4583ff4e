/** Something that can be asked to end. */
export interface Leaver {
  leave(): void;
  destroy(): void;
}

/** WebSocket sessions of this process: a server does not know connections that left HTTP behind. */
export class OpenSockets {
  private readonly open = new Set<Leaver>();
  private isClosing = false;

  get size(): number {
    return this.open.size;
  }

  /** Sessions were asked to leave: one that opens only now is to leave as well. */
  get areLeaving(): boolean {
    return this.isClosing;
  }

  add(socket: Leaver): void {
    this.open.add(socket);
  }

  remove(socket: Leaver): void {
    this.open.delete(socket);
  }

  /** The process drains: sessions end in good order. */
  leaveAll(): void {
    this.isClosing = true;
    for (const socket of [...this.open]) socket.leave();
  }

  destroyAll(): void {
    for (const socket of [...this.open]) socket.destroy();
  }
}
