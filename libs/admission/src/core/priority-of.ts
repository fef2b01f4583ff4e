import { PRIORITY } from '@smg/protocol';
import { type AdmissionRequest } from '@smg/plugin-api';
import { DEFAULT_RANK, type PriorityRank, rankOf } from './priority-class';
import { type SchedulerPlan } from './scheduler-file';
import { tenantOf } from './tenant-key';

/** Told what a request asked for and did not get. */
export interface PriorityMeter {
  clamped(tenant: string, requested: PriorityRank, effective: PriorityRank): void;
  unknown(tenant: string): void;
}

/** Finds the class of a request: what it asks for, but no more than its tenant may have. */
export class PriorityOf {
  constructor(
    public plan: SchedulerPlan,
    private readonly defaultMax: PriorityRank,
    /** Lower case; undefined when no header is trusted. */
    private readonly trustedHeader: string | undefined,
    private readonly meter: PriorityMeter,
  ) {}

  of(request: AdmissionRequest): PriorityRank {
    const tenant = tenantOf(request, this.trustedHeader);
    const requested = this.requestedBy(request, tenant);
    const most = this.plan.maxClassOf.get(tenant) ?? this.defaultMax;
    if (requested >= most) return requested;
    this.meter.clamped(tenant, requested, most);
    return most;
  }

  private requestedBy(request: AdmissionRequest, tenant: string): PriorityRank {
    const value = request.header(PRIORITY);
    if (value === undefined) return DEFAULT_RANK;
    const rank = rankOf(value);
    if (rank === undefined) this.meter.unknown(tenant);
    return rank ?? DEFAULT_RANK;
  }
}
