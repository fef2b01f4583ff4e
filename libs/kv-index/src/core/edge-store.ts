// Where a tree keeps what its edges are labelled with: one after another in chunks. A Buffer per edge
// would be three objects and a system allocation each, and the garbage collector would walk them all.
//
// Least recently used edges are also the oldest, so eviction mostly empties whole chunks, which are
// then let go. Of chunks that stay sparse, edges are moved to the newest: what is held in chunks is at
// most 1.3 times what is used of them, plus a few chunks.

/** Bytes of a chunk that edges share. */
const CHUNK_BYTES = 32_768;
/** A longer edge gets a chunk of its own, so that the end of a shared one stays empty by an eighth at most. */
const MAX_SHARED_BYTES = CHUNK_BYTES / 8;
/** Bytes held for each byte that is used, before sparse chunks are emptied. */
const MAX_SPREAD = 1.3;
/** What may be held beyond that: the cost of emptying small trees is not worth it. */
const SLACK_BYTES = 2 * CHUNK_BYTES;
/** Edges moved per call at most, and the bytes from which no further one is: some 20 µs. */
const MAX_MOVES = 64;
const MAX_MOVED_BYTES = CHUNK_BYTES;
/** Closed chunks are sorted by how many sixteenths of them are used. */
const LEVELS = 16;

/** Part of a chunk that is one edge; a store changes these fields, nobody else does. */
export interface Edge {
  chunk: Chunk;
  /** First byte in the chunk, and how many there are. */
  start: number;
  size: number;
  /** Index among the chunk's edges. */
  place: number;
}

/** Bytes of many edges. */
export class Chunk {
  readonly edges: Edge[] = [];
  /** Bytes of edges that are still there. */
  live = 0;
  /** First byte that no edge ever had. */
  end = 0;
  /** Which list it is on; -1 while it is on none. */
  level = -1;
  previous: Chunk | undefined;
  next: Chunk | undefined;

  constructor(readonly bytes: Buffer) {}
}

/** What an edge without bytes refers to. */
export const NO_CHUNK = new Chunk(Buffer.alloc(0));

/** The edges of one tree. */
export class EdgeStore {
  /** The chunk that is being filled. */
  private open: Chunk | undefined;
  /** Full chunks, by how much of them is used. */
  private readonly levels: (Chunk | undefined)[] = new Array<Chunk | undefined>(LEVELS + 1).fill(
    undefined,
  );
  /** Bytes of the full chunks, and how many of those edges use. */
  private closedBytes = 0;
  private closedLive = 0;

  /** Bytes held, used or not. */
  get heldBytes(): number {
    return this.closedBytes + (this.open?.bytes.length ?? 0);
  }

  /** Bytes of all edges. */
  get usedBytes(): number {
    return this.closedLive + (this.open?.live ?? 0);
  }

  /** Gives an edge a copy of `bytes[from, to)`, which is not empty. */
  put(edge: Edge, bytes: Buffer, from: number, to: number): void {
    const size = to - from;
    const chunk = this.roomFor(size);
    bytes.copy(chunk.bytes, chunk.end, from, to);
    edge.start = chunk.end;
    edge.size = size;
    chunk.end += size;
    this.attach(edge, chunk);
    if (chunk !== this.open) this.close(chunk);
  }

  /** Gives `upper` the first `bytes` bytes of `lower`, which keeps the rest; nothing is copied. */
  cut(lower: Edge, bytes: number, upper: Edge): void {
    const { chunk } = lower;
    upper.start = lower.start;
    upper.size = bytes;
    lower.start += bytes;
    lower.size -= bytes;
    upper.chunk = chunk;
    upper.place = chunk.edges.length;
    chunk.edges.push(upper);
  }

  /** Lets go of what an edge has. */
  remove(edge: Edge): void {
    this.detach(edge);
    edge.chunk = NO_CHUNK;
    if (this.isSpread()) this.gather();
  }

  private attach(edge: Edge, chunk: Chunk): void {
    edge.chunk = chunk;
    edge.place = chunk.edges.length;
    chunk.edges.push(edge);
    chunk.live += edge.size;
  }

  private detach({ chunk, place, size }: Edge): void {
    const last = chunk.edges.pop();
    if (last !== undefined && last.place !== place) {
      chunk.edges[place] = last;
      last.place = place;
    }
    chunk.live -= size;
    if (chunk === this.open) {
      // Nothing of it is left: it is filled again from its start.
      if (chunk.live === 0) chunk.end = 0;
      return;
    }
    this.closedLive -= size;
    if (chunk.live === 0) this.discard(chunk);
    else if (levelOf(chunk) !== chunk.level) {
      this.unlink(chunk);
      this.link(chunk);
    }
  }

  /** A chunk that has as many bytes left; one that is not the open one is for this edge alone. */
  private roomFor(size: number): Chunk {
    if (size > MAX_SHARED_BYTES) return new Chunk(Buffer.allocUnsafeSlow(size));
    if (this.open !== undefined && this.open.end + size > CHUNK_BYTES) {
      const full = this.open;
      this.open = undefined;
      this.close(full);
    }
    this.open ??= new Chunk(Buffer.allocUnsafeSlow(CHUNK_BYTES));
    return this.open;
  }

  private close(chunk: Chunk): void {
    this.closedBytes += chunk.bytes.length;
    this.closedLive += chunk.live;
    this.link(chunk);
  }

  private discard(chunk: Chunk): void {
    this.closedBytes -= chunk.bytes.length;
    this.unlink(chunk);
  }

  private isSpread(): boolean {
    return this.closedBytes > this.closedLive * MAX_SPREAD + SLACK_BYTES;
  }

  /** Moves edges out of the sparsest chunks, a bounded number of them. */
  private gather(): void {
    let moved = 0;
    for (let moves = 0; moves < MAX_MOVES && moved < MAX_MOVED_BYTES; moves++) {
      const edge = this.sparsest()?.edges.at(-1);
      if (edge === undefined) return;
      const { bytes } = edge.chunk;
      const { start, size } = edge;
      this.detach(edge);
      this.put(edge, bytes, start, start + size);
      moved += size;
      if (!this.isSpread()) return;
    }
  }

  private sparsest(): Chunk | undefined {
    for (const chunk of this.levels) if (chunk !== undefined) return chunk;
    return undefined;
  }

  private link(chunk: Chunk): void {
    chunk.level = levelOf(chunk);
    const first = this.levels[chunk.level];
    chunk.next = first;
    if (first !== undefined) first.previous = chunk;
    this.levels[chunk.level] = chunk;
  }

  private unlink(chunk: Chunk): void {
    const { previous, next } = chunk;
    if (previous === undefined) this.levels[chunk.level] = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    chunk.previous = undefined;
    chunk.next = undefined;
  }
}

function levelOf(chunk: Chunk): number {
  return Math.floor((chunk.live * LEVELS) / chunk.bytes.length);
}
