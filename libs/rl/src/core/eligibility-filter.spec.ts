import { type WorkerView } from '@smg/plugin-api';
import { describeCandidateFilter, fakeContext, fakeWorker } from '@smg/testing';
import { Eligibility } from './eligibility';
import { EligibilityFilter } from './eligibility-filter';
import { PolicyHeader } from './policy-header';
import { ANY_VERSION } from './version-policy';
import { VersionTable } from './version-table';
import { parseVersion } from './weight-version';

const HEADER = 'x-smg-version-policy';
const workers = Object.freeze<WorkerView[]>(
  ['a', 'b', 'c'].map((name) => fakeWorker({ url: `http://${name}` })),
);
const asking = (value?: string) =>
  fakeContext({ headers: value === undefined ? {} : { [HEADER]: value } });

function setUp() {
  const table = new VersionTable();
  workers.forEach((worker, at) => {
    table.seed(worker.baseUrl, worker.modelId, parseVersion(String(at + 1)));
  });
  const counted: string[] = [];
  const filter = new EligibilityFilter(new Eligibility(table), new PolicyHeader(ANY_VERSION), {
    onDropped: (reason, count) => counted.push(`${reason} ${count}`),
    onUnroutable: () => counted.push('unroutable'),
  });
  return { table, filter, counted };
}

function paused() {
  const { table, filter } = setUp();
  table.pause('http://b');
  return filter;
}

describeCandidateFilter('rl', paused, () => [
  { title: 'one paused', candidates: workers, context: asking() },
  { title: 'the latest', candidates: workers, context: asking('latest-only') },
  { title: 'nobody', candidates: workers, context: asking('min-version:9') },
]);

describe('EligibilityFilter', () => {
  it('with nobody paused, any keeps the very array', () => {
    const { filter } = setUp();
    expect(filter.filter(workers, asking())).toBe(workers);
    expect(filter.filter(workers, asking('any'))).toBe(workers);
  });

  it('the header replaces the configured policy', () => {
    const { filter } = setUp();
    expect(filter.filter(workers, asking('latest-only'))).toEqual([workers[2]]);
    expect(filter.filter(workers, asking('max-staleness:1'))).toEqual([workers[1], workers[2]]);
  });

  it('filtering and explaining count nothing; a narrowed selection counts once', () => {
    const { table, filter, counted } = setUp();
    table.pause('http://a');
    const context = asking('latest-only');
    const kept = filter.filter(workers, context);
    filter.filter(workers, context);
    expect(filter.explain(workers, context)).toBe('1 paused, 1 stale (latest 3)');
    expect(counted).toEqual([]);
    filter.onNarrowed(workers, kept, context);
    expect(counted).toEqual(['paused 1', 'stale 1']);
  });

  it('a selection that lost everyone is unroutable', () => {
    const { filter, counted } = setUp();
    const context = asking('min-version:9');
    filter.onNarrowed(workers, filter.filter(workers, context), context);
    expect(counted).toEqual(['stale 3', 'unroutable']);
  });

  it('refuses a header that is no policy, and nothing else', () => {
    const { filter } = setUp();
    const refusal = (value?: string) =>
      filter.refuse((name) => (name === HEADER ? value : undefined));
    expect(refusal()).toBeUndefined();
    expect(refusal('max-staleness:2')).toBeUndefined();
    const refused = refusal('newest');
    expect(refused).toMatchObject({ status: 400, code: 'invalid_version_policy' });
    expect(JSON.parse(refused?.body ?? '')).toEqual({
      error: 'invalid_version_policy',
      message:
        'invalid version policy `newest`: expected any | latest-only | min-version:<v> | max-staleness:<k>',
    });
  });

  it('a refused header that comes this far opens nothing', () => {
    const { filter } = setUp();
    expect(() => filter.filter(workers, asking('newest'))).toThrow('invalid version policy');
  });
});
