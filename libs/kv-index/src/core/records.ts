import { type ChildTable } from './child-table';
import { type Edge } from './edge-store';

// The three records of a tree; they refer to each other, so they live in one file.

/** One edge of the tree and what lies below it. */
export interface TreeNode extends Edge {
  /** Length of the edge in the unit that sizes count. */
  length: number;
  /** Under which the parent knows this node; changes when an edge above it is cut. */
  key: number;
  /** Undefined at the root, and once the node was taken out of the tree. */
  parent: TreeNode | undefined;
  /** Undefined while there is none: most nodes are leaves. */
  children: ChildTable<TreeNode> | undefined;
  /** Who holds this prefix, in no order. Those of dead tenants may linger until they are swept. */
  holdings: Holding[];
  /** The same by tenant, once they are too many to look through. */
  index: Map<Tenant, Holding> | undefined;
}

/** One tenant of a tree. A reset replaces it; the old one is dead and its holdings are swept. */
export interface Tenant {
  readonly name: string;
  /** Length of all nodes it holds. */
  size: number;
  isAlive: boolean;
  /** First of the tenant's own list of holdings, newest first; the root's is not in it. */
  first: Holding | undefined;
}

/** One tenant's mark on one node; a member of two lists: its tenant's, and the tree's by use. */
export interface Holding {
  readonly tenant: Tenant;
  readonly node: TreeNode;
  /** Index in the node's list. */
  place: number;
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
