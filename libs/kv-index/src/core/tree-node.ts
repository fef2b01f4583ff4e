import { ChildTable } from './child-table';
import { type TreeNode } from './records';

/** A node with no holder and no child yet. */
export function createNode(
  edge: Buffer,
  length: number,
  key: number,
  parent: TreeNode | undefined,
): TreeNode {
  return { edge, length, key, parent, children: undefined, holdings: [], index: undefined };
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
