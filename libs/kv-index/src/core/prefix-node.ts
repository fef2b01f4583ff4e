import { type PrefixNode } from './records';
import { characterKey } from './utf8';

/** A node with no holder yet. */
export function createNode(
  edge: Buffer,
  characters: number,
  parent: PrefixNode | undefined,
): PrefixNode {
  return { edge, characters, parent, children: new Map(), holdings: new Map() };
}

/** Takes a node, and with it everything below, out of its parent. */
export function detach(node: PrefixNode): void {
  const { parent } = node;
  if (parent === undefined) return;
  const key = characterKey(node.edge, 0);
  if (parent.children.get(key) === node) parent.children.delete(key);
  node.parent = undefined;
}
