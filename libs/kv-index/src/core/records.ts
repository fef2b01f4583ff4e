// The three records of the tree; they refer to each other, so they live in one file.

/** One edge of the tree and what lies below it. */
export interface PrefixNode {
  /** Text of the edge; bytes of the tree's own. Empty at the root. */
  edge: Buffer;
  /** Characters in `edge`. */
  characters: number;
  /** Undefined at the root, and once the node was taken out of the tree. */
  parent: PrefixNode | undefined;
  /** By the key of the first character of the child's edge. */
  readonly children: Map<number, PrefixNode>;
  /** Who holds this prefix. Entries of dead tenants may linger until they are met or swept. */
  readonly holdings: Map<Tenant, Holding>;
}

/** One tenant of a tree. A reset replaces it; the old one is dead and its holdings are swept. */
export interface Tenant {
  readonly name: string;
  /** Characters on all nodes it holds. */
  size: number;
  isAlive: boolean;
  /** First of the tenant's own list of holdings, newest first; the root's is not in it. */
  first: Holding | undefined;
}

/** One tenant's mark on one node; a member of two lists: its tenant's, and the tree's by use. */
export interface Holding {
  readonly tenant: Tenant;
  readonly node: PrefixNode;
  /** Children of the node that the tenant holds too; 0 makes it the tenant's leaf. */
  heldChildren: number;
  /** Milliseconds of the tree's clock at the last stamp; 0 when never stamped. */
  stampedAt: number;
  isQueued: boolean;
  older: Holding | undefined;
  newer: Holding | undefined;
  previousOfTenant: Holding | undefined;
  nextOfTenant: Holding | undefined;
}
