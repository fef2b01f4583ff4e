import {
  type CandidateFilter,
  type EngineAdapter,
  ResponseInterceptor,
  type ResponseHead,
  type RoutingPolicy,
  type WorkerView,
} from '@smg/plugin-api';
import { fakeWorker } from '../fakes/fake-worker';
import { describeCandidateFilter } from './candidate-filter.contract';
import { describeEngineAdapter } from './engine-adapter.contract';
import { describeResponseInterceptor } from './response-interceptor.contract';
import { describeRoutingPolicy } from './routing-policy.contract';

const goldOnly: CandidateFilter = {
  name: 'gold-only',
  order: 300,
  filter: (candidates) => {
    const kept = candidates.filter(({ labels }) => labels.get('tier') === 'gold');
    return kept.length === candidates.length ? candidates : kept;
  },
  explain: (candidates) => `${candidates.length} not gold`,
};

const firstPolicy: RoutingPolicy = { name: 'first', select: ([first]) => first };
const firstFactory = { name: 'first', create: () => firstPolicy };

const quietAdapter: EngineAdapter = {
  name: 'quiet',
  recognition: { ownedBy: ['quiet'], order: 10 },
  discover: async (ask) => {
    const { json } = await ask('/info');
    const version = (json as { version?: unknown } | null | undefined)?.version;
    return { labels: typeof version === 'string' && version !== '' ? { version } : {} };
  },
};

class Stamp extends ResponseInterceptor {
  readonly name = 'stamp';
  readonly order = 300;
  override onHead(head: ResponseHead): void {
    head.set('x-acme', 'yes');
  }
}

// The suites as an author sees them: sound ones pass.
describeCandidateFilter('a sound filter', () => goldOnly);
describeRoutingPolicy('a sound policy', () => firstFactory);
describeEngineAdapter('a sound adapter', () => quietAdapter, { '/info': { version: '1' } });
describeResponseInterceptor('a sound interceptor', () => new Stamp());

/** Runs a suite against collected tests. @returns messages of those that failed. */
async function failuresOf(declare: () => void): Promise<string[]> {
  const real = { describe: globalThis.describe, it: globalThis.it };
  const tests: (() => void | Promise<void>)[] = [];
  Object.assign(globalThis, {
    describe: (_name: string, body: () => void) => body(),
    it: (_name: string, body: () => void | Promise<void>) => tests.push(body),
  });
  try {
    declare();
  } finally {
    Object.assign(globalThis, real);
  }
  const failures: string[] = [];
  for (const test of tests) {
    try {
      await test();
    } catch (error) {
      failures.push(String(error));
    }
  }
  return failures;
}

describe('the suites catch', () => {
  const filterWith = (filter: CandidateFilter['filter']): CandidateFilter => ({
    name: 'broken',
    order: 300,
    filter,
  });
  const intruder = fakeWorker({ url: 'http://intruder:1' });

  it.each<[string, CandidateFilter, RegExp]>([
    ['a needless copy', filterWith((all) => [...all]), /same array/],
    ['a changed order', filterWith((all) => [...all].reverse().slice(0, -1)), /moved|added/],
    ['an added worker', filterWith(() => [intruder]), /added|same array/],
    [
      'a changed input',
      filterWith((all) => (all as WorkerView[]).sort(() => -1)),
      /read only|assign/,
    ],
    [
      'a promise',
      filterWith(((all: unknown) => Promise.resolve(all)) as unknown as CandidateFilter['filter']),
      /synchronous/,
    ],
    ['a name with spaces', { ...goldOnly, name: 'Gold Only' }, /name/],
    ['a fractional order', { ...goldOnly, order: 1.5 }, /whole number/],
    ['a long explanation', { ...goldOnly, explain: () => 'a\nb' }, /one line/],
  ])('%s in a filter', async (_what, filter, message) => {
    const failures = await failuresOf(() => describeCandidateFilter('broken', () => filter));
    expect(failures.join('\n')).toMatch(message);
  });

  it.each<[string, Partial<RoutingPolicy>, RegExp]>([
    ['a stranger', { select: () => intruder }, /no candidate/],
    ['another name', { name: 'second' }, /first/],
    [
      'a removed worker, remembered',
      (() => {
        let held: WorkerView | undefined;
        return { select: ([first]: readonly WorkerView[]) => (held ??= first) };
      })(),
      /no candidate|removed worker|falsy/,
    ],
  ])('%s in a policy', async (_what, broken, message) => {
    const create = (): RoutingPolicy => ({ ...firstPolicy, ...broken });
    const failures = await failuresOf(() =>
      describeRoutingPolicy('broken', () => ({ name: 'first', create })),
    );
    expect(failures.join('\n')).toMatch(message);
  });

  it('an empty label, a number as a label and a relative path in an adapter', async () => {
    const adapter: EngineAdapter = {
      ...quietAdapter,
      discover: async (ask) => {
        const { json } = await ask('info');
        return { labels: { a: '', b: json as string } };
      },
    };
    const text = (await failuresOf(() => describeEngineAdapter('broken', () => adapter))).join(
      '\n',
    );
    expect(text).toMatch(/does not start with/);
    expect(text).toMatch(/leave it out/);
  });

  it('touched framing, a repeated stamp and an async head in an interceptor', async () => {
    let count = 0;
    class Broken extends Stamp {
      override onHead(head: ResponseHead): void {
        head.delete('content-length');
        head.set('x-count', String((count += 1)));
      }
    }
    const late = Object.assign(new Stamp(), {
      onHead: async () => undefined,
    });
    const text = (
      await failuresOf(() => {
        describeResponseInterceptor('broken', () => new Broken());
        describeResponseInterceptor('late', () => late);
      })
    ).join('\n');
    expect(text).toMatch(/content-length was changed/);
    expect(text).toMatch(/deep-equal/);
    expect(text).toMatch(/async/);
  });
});
