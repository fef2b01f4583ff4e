import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import {
  CANDIDATE_FILTER,
  type CandidateFilter,
  type HeaderReader,
  type RequestRefusal,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';
import { type AllFiltered } from './core/all-filtered';
import { askRefusal, explainExhaustion, runFilter } from './core/filter-run';
import { POLICY_OPTIONS, type PolicyOptions } from './policy-options';

/** All candidate filters of the process, in order; frozen at boot. */
@Injectable()
export class CandidateFilterChain implements OnModuleInit {
  private readonly logger = new Logger(CandidateFilterChain.name);
  private filters: readonly CandidateFilter[] = Object.freeze([]);
  private refusing: readonly CandidateFilter[] = Object.freeze([]);

  constructor(
    private readonly collector: ExtensionCollector,
    @Inject(POLICY_OPTIONS) private readonly options: PolicyOptions,
  ) {}

  onModuleInit(): void {
    const found = [...this.collector.collect(CANDIDATE_FILTER)];
    for (const filter of found) assertUsable(filter);
    found.sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1));
    const names = found.map((filter) => filter.name);
    for (const wanted of this.options.requireFilters) {
      if (names.includes(wanted)) continue;
      throw new Error(
        `candidate filter '${wanted}' is required but not registered; registered: ${names.join(', ') || 'none'}`,
      );
    }
    this.filters = Object.freeze(found);
    this.refusing = Object.freeze(found.filter((filter) => filter.refuse !== undefined));
    const listing = found.map((filter) => `${filter.name}(${filter.order})`).join(' → ');
    this.logger.log(`candidate filters: ${listing || 'none'}`);
  }

  /** Names in the order they run. */
  get names(): readonly string[] {
    return this.filters.map((filter) => filter.name);
  }

  /**
   * The first refusal of a request's headers, in filter order; for every route, before auth.
   * @throws GatewayError `filter_failed` when a filter throws.
   */
  refusalOf(header: HeaderReader): RequestRefusal | undefined {
    const { refusing } = this;
    if (refusing.length === 0) return undefined;
    for (const filter of refusing) {
      const refusal = askRefusal(filter, header);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  /** Whether any filter refuses requests by their headers. */
  get refusesRequests(): boolean {
    return this.refusing.length > 0;
  }

  /**
   * Narrows `candidates` (not empty): the same array when nobody was dropped, the survivors in the
   * same order, or why nobody is left.
   * @throws GatewayError `filter_failed` when a filter throws, adds a worker or reorders them.
   */
  apply(
    candidates: readonly WorkerView[],
    context: SelectionContext,
  ): readonly WorkerView[] | AllFiltered {
    const { filters } = this;
    // V8 makes an iterator for a frozen array, even an empty one.
    if (filters.length === 0) return candidates;
    let kept = candidates;
    for (const filter of filters) {
      const given = kept;
      kept = runFilter(filter, given, context);
      if (kept.length < given.length) filter.onNarrowed?.(given, kept, context);
      if (kept.length === 0) return explainExhaustion(filters, candidates, context);
    }
    return kept;
  }
}

function assertUsable(filter: CandidateFilter): void {
  if (typeof filter.filter !== 'function') {
    throw new Error(`candidate filter '${filter.name}' has no filter() method`);
  }
  if (!Number.isFinite(filter.order)) {
    throw new Error(`candidate filter '${filter.name}' needs a finite number as its order`);
  }
}
