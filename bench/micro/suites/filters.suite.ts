import { type CandidateFilter } from '@smg/plugin-api';
import { CandidateFilterChain, isAllFiltered, LabelFilter } from '@smg/policy';
import { fakeContext, fakeWorkers } from '@smg/testing';
import { type MicroCase, type MicroSuite, repeat } from '../micro-suite';

const HEADER = 'x-worker-filter';

/** A chain as the gateway builds it at boot, without booting a gateway. */
function chainOf(filters: readonly CandidateFilter[]): CandidateFilterChain {
  type Dependencies = ConstructorParameters<typeof CandidateFilterChain>;
  const collector = { collect: () => filters } as unknown as Dependencies[0];
  const options = { requireFilters: [] } as unknown as Dependencies[1];
  const chain = new CandidateFilterChain(collector, options);
  chain.onModuleInit();
  return chain;
}

/** Who may serve a request, before any policy is asked. */
export const filtersSuite: MicroSuite = {
  name: 'filter chain',
  prepare() {
    const chain = chainOf([new LabelFilter(HEADER)]);
    const free = fakeContext();
    const tied = fakeContext({ headers: { [HEADER]: 'tier=gold,zone=a' } });
    const cases: MicroCase[] = [];
    for (const count of [8, 64, 1_000]) {
      const workers = Object.freeze(
        fakeWorkers(count).map((worker, i) => ({
          ...worker,
          labels: new Map([
            ['tier', i % 2 === 0 ? 'gold' : 'silver'],
            ['zone', 'a'],
          ]),
        })),
      );
      const gold = Object.freeze(workers.filter((worker) => worker.labels.get('tier') === 'gold'));
      for (const [name, candidates, context] of [
        [`${count} candidates, no requirement`, workers, free],
        [`${count} candidates, half drop out`, workers, tied],
        [`${gold.length} candidates, all stay`, gold, tied],
      ] as const) {
        cases.push(
          repeat(
            name,
            () => {
              const kept = chain.apply(candidates, context);
              return isAllFiltered(kept) ? 0 : kept.length;
            },
            // A selection that takes longer is felt: it holds up every stream of the process.
            count === 1_000 ? { p99AtMostNs: 50_000 } : {},
          ),
        );
      }
    }
    return cases;
  },
};
