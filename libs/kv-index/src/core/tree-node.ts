import { ChildTable } from './child-table';
import { NO_CHUNK } from './edge-store';
import { type Holding, type TreeNode } from './records';

/** Never written to: a node's first holding brings an array of its own. */
const NONE: Holding[] = [];

/** A node with no holder and no child yet, and an edge without bytes. */
export function createNode(length: number, key: number, parent: TreeNode | undefined): TreeNode {
  return {
    chunk: NO_CHUNK,
    start: 0,
    size: 0,
    place: 0,
    length,
    key,
    parent,
    children: undefined,
    holdings: NONE,
    index: undefined,
  };
}

/** Makes `child`, whose parent is set, known to its parent under its key. */
export function attach(child: TreeNode): void {
  const { parent } = child;
  if (parent === undefined) return;
  parent.children ??= new ChildTable();
  parent.children.set(child.key, child);
}

/** Takes a node, and with it everything below, out of its parent. */
export function detach(node: TreeNode): void {
  const { parent, key } = node;
  if (parent === undefined) return;
  if (parent.children?.get(key) === node) parent.children.delete(key);
  node.parent = undefined;
}
