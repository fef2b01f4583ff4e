import { type Holding, type Tenant, type TreeNode } from './records';

/** Holdings of a node that are looked through one by one; with more, it keeps a Map as well. */
const MAX_LINEAR = 8;

/** The mark of a tenant on a node, if it has one. */
export function holdingOf(node: TreeNode, tenant: Tenant): Holding | undefined {
  if (node.index !== undefined) return node.index.get(tenant);
  for (const holding of node.holdings) if (holding.tenant === tenant) return holding;
  return undefined;
}

/** Whether a tenant that was not removed holds the node. */
export function isHeld(node: TreeNode): boolean {
  for (const holding of node.holdings) if (holding.tenant.isAlive) return true;
  return false;
}

/** Puts a fresh mark of a tenant, stamped never and queued nowhere, on a node that lacks it. */
export function addHolding(node: TreeNode, tenant: Tenant): Holding {
  const holding: Holding = {
    tenant,
    node,
    place: node.holdings.length,
    heldChildren: 0,
    stampedAt: 0,
    isQueued: false,
    older: undefined,
    newer: undefined,
    previousOfTenant: undefined,
    nextOfTenant: undefined,
  };
  // A literal has room for one; a push would make room for seventeen.
  if (holding.place === 0) node.holdings = [holding];
  else node.holdings.push(holding);
  if (node.index !== undefined) node.index.set(tenant, holding);
  else if (node.holdings.length > MAX_LINEAR) {
    node.index = new Map();
    for (const each of node.holdings) node.index.set(each.tenant, each);
  }
  return holding;
}

/** Takes a mark off its node. */
export function removeHolding(holding: Holding): void {
  const { node, place } = holding;
  const last = node.holdings.pop();
  if (last !== undefined && last !== holding) {
    node.holdings[place] = last;
    last.place = place;
  }
  node.index?.delete(holding.tenant);
}

/** Puts a holding on its tenant's list. */
export function linkToTenant(holding: Holding): void {
  const { tenant } = holding;
  holding.nextOfTenant = tenant.first;
  if (tenant.first !== undefined) tenant.first.previousOfTenant = holding;
  tenant.first = holding;
}

/** Takes a holding off its tenant's list. */
export function unlinkFromTenant(holding: Holding): void {
  const { tenant, previousOfTenant, nextOfTenant } = holding;
  if (previousOfTenant === undefined) tenant.first = nextOfTenant;
  else previousOfTenant.nextOfTenant = nextOfTenant;
  if (nextOfTenant !== undefined) nextOfTenant.previousOfTenant = previousOfTenant;
  holding.previousOfTenant = undefined;
  holding.nextOfTenant = undefined;
}
