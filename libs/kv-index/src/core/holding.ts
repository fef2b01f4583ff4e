import { type Holding, type PrefixNode, type Tenant } from './records';

/** A fresh mark, stamped never and queued nowhere. */
export function createHolding(tenant: Tenant, node: PrefixNode): Holding {
  return {
    tenant,
    node,
    heldChildren: 0,
    stampedAt: 0,
    isQueued: false,
    older: undefined,
    newer: undefined,
    previousOfTenant: undefined,
    nextOfTenant: undefined,
  };
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
