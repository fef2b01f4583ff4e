import { type WorkerView } from '@smg/plugin-api';
import {
  ANY_VERSION,
  Eligibility,
  EligibilityFilter,
  parseVersion,
  parseVersionPolicy,
  PolicyHeader,
  type VersionPolicy,
  VersionTable,
} from '@smg/rl';
import { fakeContext, fakeWorkers } from '@smg/testing';
import { type MicroCase, type MicroSuite, repeat } from '../micro-suite';

/** ns of the Rust original at 8 candidates, by policy; `min-version` was not published. */
const ORIGINAL_NS: Readonly<Record<string, number>> = {
  any: 1.8,
  'latest-only': 318,
  'max-staleness:1': 190,
};
const POLICIES = ['any', 'latest-only', 'max-staleness:1', 'min-version:41'] as const;
const MODEL = 'm';
/** A selection that takes longer is felt: it holds up every stream of the process. */
const P99_AT_MOST_NS = 50_000;

/** @throws Error for text that is no policy. */
function policyOf(text: string): VersionPolicy {
  const parsed = parseVersionPolicy(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.policy;
}

/** A refit under way: two thirds of the fleet are at 42, one at 41, and one in 64 is at 7. */
function fleetOf(count: number): { workers: readonly WorkerView[]; table: VersionTable } {
  const workers = Object.freeze(fakeWorkers(count, { modelId: MODEL }));
  const table = new VersionTable();
  workers.forEach(({ baseUrl }, at) => {
    const version = at % 64 === 7 ? '7' : at % 3 === 0 ? '41' : '42';
    table.seed(baseUrl, MODEL, parseVersion(version));
  });
  return { workers, table };
}

/** Who may serve under a version policy, as asked once per attempt. */
export const filterRlSuite: MicroSuite = {
  name: 'filter rl',
  prepare() {
    const cases: MicroCase[] = [];
    for (const count of [8, 64, 1_000]) {
      const { workers, table } = fleetOf(count);
      for (const name of POLICIES) {
        // One of its own for each case: the last decision is remembered.
        const eligibility = new Eligibility(table);
        const policy = name === 'any' ? ANY_VERSION : policyOf(name);
        const original = count === 8 ? ORIGINAL_NS[name] : undefined;
        cases.push(
          repeat(
            `${count}, ${name}${original === undefined ? '' : ` (Rust: ${original} ns)`}`,
            () => eligibility.kept(workers, policy).length,
            count === 1_000 ? { atMostNs: 5, p99AtMostNs: P99_AT_MOST_NS } : { atMostNs: 5 },
          ),
        );
      }
      cases.push(wholeFilter(count), afterChange(count));
    }
    return cases;
  },
};

/** The same with the request's header looked for, as the gateway calls it. */
function wholeFilter(count: number): MicroCase {
  const { workers, table } = fleetOf(count);
  const counter = { onDropped: () => undefined, onUnroutable: () => undefined };
  const header = new PolicyHeader(policyOf('latest-only'));
  const filter = new EligibilityFilter(new Eligibility(table), header, counter);
  const context = fakeContext();
  return repeat(
    `${count}, latest-only, header included`,
    () => filter.filter(workers, context).length,
  );
}

/** The first selection after an engine paused or resumed; those that follow are the cases above. */
function afterChange(count: number): MicroCase {
  const { workers, table } = fleetOf(count);
  const eligibility = new Eligibility(table);
  const policy = policyOf('latest-only');
  const changing = workers[0]?.baseUrl ?? '';
  let isPaused = false;
  return repeat(`${count}, latest-only, decided anew`, () => {
    isPaused = !isPaused;
    if (isPaused) table.pause(changing);
    else table.resume(changing);
    return eligibility.kept(workers, policy).length;
  });
}
