import {
  type Admission,
  type AdmissionRequest,
  type ChargeOutcome,
  type CounterCell,
  type TenantCharge,
} from '@smg/plugin-api';
import { type Cost, type Shortage } from './tenant-budget';
import { tenantOf } from './tenant-key';
import { type TenantLedger } from './tenant-ledger';

/** Beyond what any limit allows, and small enough for exact arithmetic. */
const MOST_TOKENS = 2 ** 32;

/** Counts what was decided; the same for every tenant, as clients choose those. */
export interface AdmissionCells {
  readonly allowed: readonly CounterCell[];
  readonly rejected: readonly CounterCell[];
}

/** Admission by tenant: who a request is charged to, and whether the budget allows it. */
export class TenantAdmission implements Admission {
  /** @param trustedHeader lower case; undefined when no header is trusted. */
  constructor(
    private readonly ledger: TenantLedger,
    private readonly trustedHeader: string | undefined,
    private readonly cells: AdmissionCells,
  ) {}

  tenantOf(request: AdmissionRequest): string {
    return tenantOf(request, this.trustedHeader);
  }

  charge({ tenant, model, tokens }: TenantCharge): ChargeOutcome {
    // At least one: a request whose size nobody can guess must not pass while the tenant owes.
    const cost = { model, tokens: clamp(tokens, 1) };
    const shortage = this.ledger.take(tenant, cost);
    count(shortage === undefined ? this.cells.allowed : this.cells.rejected);
    if (shortage !== undefined) return refusal(shortage, cost);
    return this.ledger.limitsTenant(tenant) ? new Charge(this.ledger, tenant, cost) : UNLIMITED;
  }
}

/** A cost that was taken, until it is known what it was worth. */
class Charge {
  readonly allowed = true;
  private isOver = false;

  constructor(
    private readonly ledger: TenantLedger,
    private readonly tenant: string,
    private readonly cost: Cost,
  ) {}

  settle(tokens: number): void {
    if (this.isOver) return;
    this.isOver = true;
    this.ledger.settle(this.tenant, this.cost, clamp(tokens, 0));
  }

  refund(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.ledger.refund(this.tenant, this.cost);
  }
}

const UNLIMITED: ChargeOutcome = Object.freeze({
  allowed: true,
  settle: () => undefined,
  refund: () => undefined,
});

function refusal({ limit, waitMs }: Shortage, { tokens }: Cost): ChargeOutcome {
  const rule = limit.ruleId === undefined ? '' : ` (rule ${limit.ruleId})`;
  const budget = `${limit.perMinute} ${limit.unit} per minute${rule}`;
  if (waitMs === Infinity) {
    const size = limit.unit === 'tokens' ? `the request may use ${tokens} tokens; ` : '';
    return {
      allowed: false,
      message: `${size}the tenant may use no more than ${budget}`,
      retryAfterSecs: undefined,
    };
  }
  const retryAfterSecs = Math.ceil(waitMs / 1000);
  return {
    allowed: false,
    message: `the tenant's budget of ${budget} is used up; try again in ${retryAfterSecs} s`,
    retryAfterSecs,
  };
}

function count(cells: readonly CounterCell[]): void {
  for (const cell of cells) cell.inc();
}

function clamp(tokens: number, least: number): number {
  // NaN ends at `least`.
  return tokens > least ? Math.min(Math.ceil(tokens), MOST_TOKENS) : least;
}
