import { type WorkerView } from '@smg/plugin-api';
import { fakeWorker } from '@smg/testing';
import fc from 'fast-check';
import { describeDrops, Eligibility } from './eligibility';
import { type ControlState } from './engine-state';
import { parseVersionPolicy, type VersionPolicy } from './version-policy';
import { VersionTable } from './version-table';
import { compareVersions, equalVersions, parseVersion } from './weight-version';

const STATES: Readonly<Record<string, ControlState>> = { A: 'active', P: 'paused', Z: 'asleep' };

function policy(text: string): VersionPolicy {
  const parsed = parseVersionPolicy(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.policy;
}

/** `a:2/P b:-/A@n`: name, version, control, model when it is not `m`. */
function fleet(text: string) {
  const table = new VersionTable();
  const workers = text.split(' ').map((one) => {
    const [name = '', rest = ''] = one.split(/:(.*)/);
    const [state = '', model = 'm'] = rest.split('@');
    const [version = '', control = ''] = state.split('/');
    const worker = fakeWorker({ url: `http://${name}`, modelId: model });
    if (version !== '?') {
      table.seed(worker.baseUrl, model, version === '-' ? undefined : parseVersion(version));
      table.setControl(worker.baseUrl, model, STATES[control] ?? 'active');
    }
    return worker;
  });
  return { table, workers: Object.freeze<WorkerView[]>(workers) };
}

const names = (workers: readonly WorkerView[]) =>
  workers.map(({ url }) => url.slice('http://'.length)).join(' ');

describe('the worked examples of the contract', () => {
  const TEN = 'a:10/A b:9/A c:7/A d:-/A';
  const TEXT = 'a:10/A b:9/A c:ckpt-7/A';
  const CKPT = 'a:ckpt-1/A b:ckpt-2/A';

  it.each([
    ['a:-/A b:-/A', 'latest-only', 'a b', undefined],
    ['a:-/A b:-/A', 'max-staleness:0', 'a b', undefined],
    ['a:-/A b:-/A', 'min-version:1', '', '2 unversioned'],
    ['a:1/A b:-/A', 'latest-only', 'a', '1 unversioned'],
    ['a:1/A b:2/A', 'latest-only', 'b', '1 stale (latest 2)'],
    ['a:2/A b:2/A', 'latest-only', 'a b', undefined],
    ['a:042/A b:42/A', 'latest-only', 'a b', undefined],
    ['a:2/P b:2/A c:2/Z', 'any', 'b', '1 paused, 1 asleep'],
    ['a:2/P b:2/A c:2/Z', 'latest-only', 'b', '1 paused, 1 asleep'],
    ['a:2/P b:2/P', 'any', '', '2 paused'],
    ['a:3/P b:2/A', 'latest-only', '', '1 paused, 1 stale (latest 3)'],
    ['a:3/P b:2/A', 'max-staleness:1', 'b', '1 paused'],
    ['a:3/Z b:1/A', 'max-staleness:1', '', '1 asleep, 1 stale (latest 3)'],
    [TEN, 'max-staleness:1', 'a b', '1 stale (latest 10), 1 unversioned'],
    [TEN, 'max-staleness:3', 'a b c', '1 unversioned'],
    [TEN, 'min-version:9', 'a b', '1 stale (minimum 9), 1 unversioned'],
    [TEN, 'min-version:7', 'a b c', '1 unversioned'],
    [TEN, 'any', 'a b c d', undefined],
    [TEXT, 'max-staleness:100', 'a b', '1 stale (latest 10)'],
    [TEXT, 'latest-only', 'a', '2 stale (latest 10)'],
    [TEXT, 'min-version:9', 'a b c', undefined],
    [CKPT, 'latest-only', 'b', '1 stale (latest ckpt-2)'],
    ['a:step-9/A b:step-10/A', 'latest-only', 'a', '1 stale (latest step-9)'],
    [CKPT, 'max-staleness:5', '', '2 stale (latest ckpt-2, which is no number)'],
    [`${CKPT} c:-/A`, 'min-version:ckpt-2', 'b', '1 stale (minimum ckpt-2), 1 unversioned'],
    ['a:5/A b:1/A@n', 'latest-only', 'a b', undefined],
    ['a:100/A b:9/A', 'min-version:50', 'a', '1 stale (minimum 50)'],
    ['a:7/A b:7/A', 'min-version:8', '', '2 stale (minimum 8)'],
    ['a:5/A b:7/A', 'max-staleness:0', 'b', '1 stale (latest 7)'],
    ['a:100/A b:99/A', 'min-version:1a', 'b', '1 stale (minimum 1a)'],
    // Beyond the table: an engine nobody told of, two models, 64-bit distances.
    ['a:?', 'any', 'a', undefined],
    ['a:? b:1/A', 'latest-only', 'b', '1 unversioned'],
    ['a:5/A b:4/A c:2/A@n d:1/A@n', 'latest-only', 'a c', '2 stale'],
    ['a:18446744073709551615/A b:0/A', 'max-staleness:18446744073709551615', 'a b', undefined],
    [
      'a:18446744073709551615/A b:0/A',
      'max-staleness:18446744073709551614',
      'a',
      '1 stale (latest 18446744073709551615)',
    ],
  ])('%s under %s keeps [%s]', (text, spelled, kept, drops) => {
    const { table, workers } = fleet(text);
    const decided = new Eligibility(table).eligible(workers, policy(spelled));
    expect(names(decided.kept)).toBe(kept);
    expect(describeDrops(decided)).toBe(drops);
    if (drops === undefined) expect(decided.kept).toBe(workers);
  });

  it('a message repeats only so much of what a client sent', () => {
    const { table, workers } = fleet('a:1/A');
    const decided = new Eligibility(table).eligible(
      workers,
      policy(`min-version:${'9'.repeat(9000)}`),
    );
    expect(describeDrops(decided)?.length).toBeLessThan(200);
  });

  it('the maximum falls when its engine is removed', () => {
    const { table, workers } = fleet('a:3/A b:2/A');
    const eligibility = new Eligibility(table);
    const left = Object.freeze(workers.slice(1));
    expect(eligibility.kept(left, policy('latest-only'))).toEqual([]);
    table.remove('http://a');
    expect(eligibility.kept(left, policy('latest-only'))).toBe(left);
  });
});

describe('decisions that are kept', () => {
  const latest = policy('latest-only');

  it('are the same object until the table changes', () => {
    const { table, workers } = fleet('a:1/A b:2/A');
    const eligibility = new Eligibility(table);
    const first = eligibility.kept(workers, latest);
    expect(eligibility.kept(workers, latest)).toBe(first);
    eligibility.kept(workers, policy('any'));
    eligibility.kept(Object.freeze(workers.slice(1)), latest);
    expect(eligibility.kept(workers, latest)).toBe(first);
    table.setVersion('http://a', 'm', parseVersion('2'), 'api');
    expect(eligibility.kept(workers, latest)).toBe(workers);
  });

  it('are not kept for an array that may change', () => {
    const { table, workers } = fleet('a:1/A b:2/A');
    const eligibility = new Eligibility(table);
    const mutable = [...workers];
    expect(names(eligibility.kept(mutable, latest))).toBe('b');
    mutable.reverse();
    mutable.pop();
    expect(eligibility.kept(mutable, latest)).toBe(mutable);
  });

  it('stay right when clients vary their policy', () => {
    const { table, workers } = fleet('a:1/A b:500/A');
    const eligibility = new Eligibility(table);
    for (let floor = 1; floor < 700; floor++) {
      const kept = eligibility.kept(workers, policy(`min-version:${floor}`));
      expect(names(kept)).toBe(floor === 1 ? 'a b' : floor <= 500 ? 'b' : '');
    }
  });

  it('the first ordering of a number against text is told, once', () => {
    const { table, workers } = fleet('a:100/A b:99/A');
    const told: string[] = [];
    const eligibility = new Eligibility(table, (a, b) => told.push(`${a} ${b}`));
    eligibility.kept(workers, policy('min-version:1'));
    expect(told).toEqual([]);
    eligibility.kept(workers, policy('min-version:1a'));
    eligibility.kept(workers, policy('min-version:1b'));
    expect(told).toEqual(['100 1a']);
  });
});

describe('against a plain reading of the rules', () => {
  const version = fc.constantFrom('1', '2', '02', '3', '9', '10', 'ckpt-1', 'ckpt-2', '1a');
  const state = fc.record({
    version: fc.option(version, { nil: undefined }),
    control: fc.constantFrom<ControlState>('active', 'active', 'active', 'paused', 'asleep'),
    model: fc.constantFrom('m', 'n'),
  });
  const spelled = fc.oneof(
    fc.constantFrom('any', 'latest-only', 'max-staleness:0', 'max-staleness:1', 'max-staleness:7'),
    version.map((floor) => `min-version:${floor}`),
  );

  /** Section 5.2, one candidate at a time, from nothing but a list of facts. */
  function mayServe(
    all: readonly { version: string | undefined; control: ControlState; model: string }[],
    at: number,
    chosen: VersionPolicy,
  ): boolean {
    const one = all[at]!;
    if (one.control !== 'active') return false;
    if (chosen.kind === 'any') return true;
    const own = one.version === undefined ? undefined : parseVersion(one.version);
    if (chosen.kind === 'min-version') {
      return own !== undefined && compareVersions(own, chosen.floor) >= 0;
    }
    const known = all
      .filter(({ model }) => model === one.model)
      .flatMap((other) => (other.version === undefined ? [] : [parseVersion(other.version)]));
    const numbers = known.filter(({ number }) => number !== undefined);
    const pool = numbers.length > 0 ? numbers : known;
    const [first] = pool;
    if (first === undefined) return true;
    const max = pool.reduce((a, b) => (compareVersions(a, b) >= 0 ? a : b), first);
    if (own === undefined) return false;
    if (chosen.kind === 'latest-only') return equalVersions(own, max);
    return own.number !== undefined && max.number !== undefined
      ? max.number - own.number <= chosen.distance
      : false;
  }

  it('keeps exactly those who may serve, through any number of changes', () => {
    fc.assert(
      fc.property(
        fc.array(state, { minLength: 1, maxLength: 6 }),
        fc.array(fc.record({ at: fc.nat(5), to: state, by: spelled }), { maxLength: 10 }),
        (initial, changes) => {
          const facts = initial.map((one) => ({ ...one }));
          const table = new VersionTable();
          const workers = Object.freeze<WorkerView[]>(
            facts.map(({ model }, at) => fakeWorker({ url: `http://w${at}`, modelId: model })),
          );
          facts.forEach((one, at) => {
            table.seed(
              `http://w${at}`,
              one.model,
              one.version === undefined ? undefined : parseVersion(one.version),
            );
            table.setControl(`http://w${at}`, one.model, one.control);
          });
          const eligibility = new Eligibility(table);
          for (const { at, to, by } of changes) {
            const one = facts[at % facts.length]!;
            const url = `http://w${at % facts.length}`;
            one.version = to.version;
            one.control = to.control;
            table.reseed(
              url,
              one.model,
              to.version === undefined ? undefined : parseVersion(to.version),
            );
            table.setControl(url, one.model, to.control);
            const chosen = policy(by);
            const expected = workers.filter((_, index) => mayServe(facts, index, chosen));
            const kept = eligibility.kept(workers, chosen);
            expect(names(kept)).toBe(names(expected));
            if (expected.length === workers.length) expect(kept).toBe(workers);
            const { counts } = eligibility.eligible(workers, chosen);
            const dropped = Object.values(counts).reduce((sum, count) => sum + count, 0);
            expect(dropped).toBe(workers.length - expected.length);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
