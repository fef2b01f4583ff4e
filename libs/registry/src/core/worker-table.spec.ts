import fc from 'fast-check';
import { type WorkerSpecWire, type WorkerType } from '@smg/protocol';
import { FakeClock } from '@smg/testing';
import { definitionOf, testClock } from '../../test/support';
import { type Worker } from './worker';
import { WorkerTable } from './worker-table';

const QUIET = { statusChanged: () => undefined, breakerChanged: () => undefined };

function table() {
  const time = new FakeClock();
  const subject = new WorkerTable(testClock(time), QUIET);
  let count = 0;
  const add = (spec: Partial<WorkerSpecWire> = {}): Worker => {
    count++;
    const added = subject.add(`id-${count}`, definitionOf({ url: `http://h:${count}`, ...spec }));
    added.setStatus('ready');
    return added;
  };
  return { subject, time, add };
}

const card = (id: string, ...aliases: string[]) => ({ id, aliases });
const urls = (workers: readonly { url: string }[] | undefined) => workers?.map((it) => it.url);

describe('WorkerTable: names', () => {
  it('resolves an id, then an alias, to the canonical pool', () => {
    const { subject, add } = table();
    add({ models: [card('m', 'alias')] });
    expect(subject.pool('m')?.model).toBe('m');
    expect(subject.pool('alias')).toBe(subject.pool('m'));
    expect(subject.pool('M')).toBeUndefined();
    expect(subject.pool('other')).toBeUndefined();
  });

  it('puts every worker in `unknown`, and a wildcard worker nowhere else', () => {
    const { subject, add } = table();
    const named = add({ models: [card('m')] });
    const wildcard = add();
    expect(subject.pool('unknown')?.workers).toEqual([named, wildcard]);
    expect(subject.pool('m')?.workers).toEqual([named]);
    expect(wildcard.modelId).toBe('unknown');
  });

  it('has no pool without workers', () => {
    const { subject, add } = table();
    expect(subject.pool('unknown')).toBeUndefined();
    subject.remove(add({ models: [card('m', 'a')] }));
    expect(subject.pool('unknown')).toBeUndefined();
    expect(subject.pool('m')).toBeUndefined();
    expect(subject.pool('a')).toBeUndefined();
  });

  it('keeps roles apart', () => {
    const { subject, add } = table();
    const prefill = add({ models: [card('m')], worker_type: 'prefill' });
    expect(subject.pool('m')).toBeUndefined();
    expect(subject.pool('m', 'prefill')?.workers).toEqual([prefill]);
    expect(subject.pool('unknown', 'prefill')?.workers).toEqual([prefill]);
  });

  it('gives an alias to its first claimant, then to the next', () => {
    const { subject, add } = table();
    const first = add({ models: [card('m1', 'shared')] });
    add({ models: [card('m2', 'shared')] });
    expect(subject.pool('shared')?.model).toBe('m1');
    subject.remove(first);
    expect(subject.pool('shared')?.model).toBe('m2');
  });

  it('lets an id shadow an alias, also one registered before it', () => {
    const { subject, add } = table();
    add({ models: [card('m1', 'm2', 'unknown')] });
    expect(subject.pool('m2')?.model).toBe('m1');
    const late = add({ models: [card('m2')] });
    expect(subject.pool('m2')?.model).toBe('m2');
    subject.remove(late);
    expect(subject.pool('m2')?.model).toBe('m1');
    expect(subject.pool('unknown')?.model).toBe('unknown');
  });

  it('moves a replaced worker to the models it now has, keeping its place in line', () => {
    const { subject, add } = table();
    const first = add({ models: [card('a', 'x')] });
    const second = add({ models: [card('b')] });
    subject.redefine(first, definitionOf({ url: 'http://h:1', models: [card('b', 'y')] }));
    expect(subject.pool('a')).toBeUndefined();
    expect(subject.pool('x')).toBeUndefined();
    expect(subject.pool('y')?.workers).toEqual([first, second]);
  });

  it('finds a worker by any spelling of its URL', () => {
    const { subject, add } = table();
    const worker = add({ url: 'http://h:80' });
    expect(subject.byUrl('http://H/')).toBe(worker);
    expect(subject.byUrl('not a url')).toBeUndefined();
  });
});

describe('WorkerTable: availability', () => {
  it('returns one frozen array until something changes', () => {
    const { subject, add } = table();
    const worker = add({ models: [card('m')] });
    const pool = subject.pool('m');
    const before = pool?.available();
    worker.beginRequest();
    worker.recordOutcome(200);
    expect(pool?.available()).toBe(before);
    expect(Object.isFrozen(before)).toBe(true);
    worker.setStatus('not_ready');
    expect(pool?.available()).toEqual([]);
    worker.setStatus('ready');
    expect(pool?.available()).toEqual([worker]);
  });

  it('does not disturb one model when another changes', () => {
    const { subject, add } = table();
    add({ models: [card('m')] });
    const before = subject.pool('m')?.available();
    const other = add({ models: [card('n')] });
    other.setStatus('not_ready');
    subject.remove(other);
    expect(subject.pool('m')?.available()).toBe(before);
  });

  it('gives a new array when a definition changes, so that caches keyed on it are dropped', () => {
    const { subject, add } = table();
    const worker = add({ models: [card('m')] });
    const before = subject.pool('m')?.available();
    subject.redefine(
      worker,
      definitionOf({ url: worker.url, models: [card('m')], labels: { a: 'b' } }),
    );
    expect(subject.pool('m')?.available()).not.toBe(before);
    expect(subject.pool('m')?.available()).toEqual([worker]);
  });

  it('brings a worker back when its breaker has waited, earliest first', () => {
    const { subject, time, add } = table();
    const one = add();
    const two = add();
    const trip = (worker: Worker) => {
      for (let i = 0; i < 10; i++) worker.recordOutcome(500);
    };
    trip(one);
    time.advance(1000);
    trip(two);
    const pool = subject.pool('unknown');
    expect(pool?.available()).toEqual([]);
    time.advance(59_000);
    expect(pool?.available()).toEqual([one]);
    time.advance(1000);
    expect(pool?.available()).toEqual([one, two]);
    expect(subject.nextLookAt).toBe(Infinity);
  });

  it('takes five thousand workers in and out and holds none', () => {
    const { subject, add } = table();
    const stays = add({ models: [card('m')] });
    const before = subject.pool('m')?.available();
    for (let i = 0; i < 5000; i++) subject.remove(add({ models: [card(`m${i}`, `a${i}`)] }));
    expect(subject.all()).toEqual([stays]);
    expect(subject.pool('m')?.available()).toBe(before);
    expect(subject.pool('a7')).toBeUndefined();
  });

  it('agrees with a naive model through any history', () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 25 }), (steps) => {
        const world = table();
        for (const step of steps) {
          take(world, step);
          for (const model of ['a', 'b', 'unknown']) {
            for (const type of ['regular', 'prefill'] as const) compare(world, model, type);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

interface Step {
  readonly do: 'add' | 'redefine' | 'remove' | 'ready' | 'lost' | 'trip' | 'wait';
  /** Place of the worker it is done to. */
  readonly at: number;
  readonly ms: number;
  readonly models: { id: string; aliases: string[] }[];
  readonly worker_type: WorkerType;
}

const STEP: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom<Step['do']>(
    'add',
    'add',
    'redefine',
    'remove',
    'ready',
    'lost',
    'trip',
    'wait',
  ),
  at: fc.nat(4),
  ms: fc.constantFrom(1, 30_000, 60_000),
  models: fc.array(
    fc.record({
      id: fc.constantFrom('a', 'b', 'unknown'),
      aliases: fc.array(fc.constantFrom('a', 'x', 'y'), { maxLength: 2 }),
    }),
    { maxLength: 2 },
  ),
  worker_type: fc.constantFrom<WorkerType>('regular', 'prefill'),
});

type World = ReturnType<typeof table>;

function take({ subject, time, add }: World, { do: action, at, ms, ...spec }: Step): void {
  if (action === 'add') add(spec);
  if (action === 'wait') time.advance(ms);
  const worker = subject.all()[at];
  if (worker === undefined) return;
  const url = worker.url;
  if (action === 'remove') subject.remove(worker);
  if (action === 'ready') worker.setStatus('ready');
  if (action === 'lost') worker.setStatus('not_ready');
  if (action === 'trip') for (let i = 0; i < 10; i++) worker.recordOutcome(500);
  if (action === 'redefine') subject.redefine(worker, definitionOf({ url, ...spec }));
}

function compare({ subject, time }: World, model: string, type: WorkerType): void {
  const named = subject.all().filter((it) => it.definition.models.some(({ id }) => id === model));
  // A name nobody registered may still be an alias; other tests look at those.
  if (model !== 'unknown' && named.length === 0) return;
  const serving = (model === 'unknown' ? subject.all() : named).filter(
    (it) => it.workerType === type,
  );
  const pool = subject.pool(model, type);
  expect(urls(pool?.workers) ?? []).toEqual(urls(serving));
  const available = pool?.available() ?? [];
  expect(urls(available)).toEqual(
    urls(serving.filter((it) => it.status === 'ready' && it.breaker.look(time.now()))),
  );
  expect(pool?.available() ?? available).toBe(available);
}
