import fc from 'fast-check';
import { WorkerCallError } from '@smg/plugin-api';
import { arbitraries } from '../arbitraries';
import { FakeCaller } from './fake-caller';
import { FakeClock } from './fake-clock';
import { fakeContext } from './fake-context';
import { FakeDirectory } from './fake-directory';
import { FakeMetrics } from './fake-metrics';
import { FakeHead } from './fake-exchange';
import { fakeWorker, fakeWorkers } from './fake-worker';

const call = { baseUrl: 'http://a:1', method: 'POST', path: '/pause?mode=keep', timeoutMs: 100 };

describe('FakeDirectory', () => {
  it('keeps the same frozen arrays until something changes', () => {
    const workers = fakeWorkers(3, { modelId: 'm' });
    const directory = new FakeDirectory(workers);
    const available = directory.pool('m')?.available();
    expect(available).toHaveLength(3);
    expect(Object.isFrozen(available)).toBe(true);
    expect(directory.pool('m')?.available()).toBe(available);
    workers[0]!.isAvailable = false;
    expect(directory.pool('m')?.available()).toBe(available);
    const before = directory.epoch;
    directory.changed();
    expect(directory.epoch).toBeGreaterThan(before);
    expect(directory.pool('m')?.available()).toEqual(workers.slice(1));
    expect(directory.pool('m')?.workers).toHaveLength(3);
  });

  it('resolves ids before aliases, and unknown to everyone', () => {
    const directory = new FakeDirectory()
      .add(fakeWorker({ url: 'http://a:1', modelId: 'a' }))
      .add(
        fakeWorker({ url: 'http://w:1' }),
        fakeWorker({ url: 'http://p:1', workerType: 'prefill' }),
      )
      .alias('a', 'b')
      .alias('nick', 'a');
    const urls = (model: string) => directory.pool(model)?.workers.map(({ url }) => url);
    expect(urls('a')).toEqual(['http://a:1']);
    expect(urls('nick')).toEqual(['http://a:1']);
    expect(urls('unknown')).toEqual(['http://a:1', 'http://w:1']);
    expect(urls('b')).toBeUndefined();
    expect(directory.pool('unknown', 'prefill')?.workers).toHaveLength(1);
  });

  it('replaces a worker where it stands', () => {
    const directory = new FakeDirectory(fakeWorkers(2));
    directory.add(fakeWorker({ url: 'http://w0:8000', priority: 7 }));
    expect(directory.all().map(({ priority }) => priority)).toEqual([7, 50]);
    expect(directory.remove('http://w0:8000').byUrl('http://w0:8000')).toBeUndefined();
  });
});

describe('fakeWorker', () => {
  it('reads the rank off its URL', () => {
    const worker = fakeWorker({ url: 'http://h:1@3', labels: { tier: 'gold' } });
    expect(worker).toMatchObject({ baseUrl: 'http://h:1', dpRank: 3 });
    expect(worker.labels.get('tier')).toBe('gold');
    expect(fakeWorker({ url: 'http://h:1@3' }).id).toBe(worker.id);
  });
});

describe('FakeCaller', () => {
  it('answers by path, or by engine and path, and remembers', async () => {
    const caller = new FakeCaller()
      .on('/pause', { body: { status: 'paused' } })
      .on('http://b:1/pause', { status: 500 });
    const answer = await caller.call(call);
    expect([answer.status, answer.body.toString()]).toEqual([200, '{"status":"paused"}']);
    expect((await caller.call({ ...call, baseUrl: 'http://b:1' })).status).toBe(500);
    expect((await caller.call({ ...call, path: '/other' })).status).toBe(404);
    expect(caller.calls).toHaveLength(3);
  });

  it('throws, truncates, counts and aborts as the real one', async () => {
    const caller = new FakeCaller()
      .on('/down', new WorkerCallError('unreachable', 'refused'))
      .on('/long', { body: 'abcdef' })
      .on('/never', () => new Promise(() => undefined));
    await expect(caller.call({ ...call, path: '/down' })).rejects.toMatchObject({
      failure: 'unreachable',
    });
    const long = await caller.call({ ...call, path: '/long', maxBodyBytes: 3 });
    expect([long.body.toString(), long.truncated]).toEqual(['abc', true]);
    const controller = new AbortController();
    const pending = [1, 2].map(() =>
      caller.call({ ...call, path: '/never', signal: controller.signal }),
    );
    expect([caller.inFlight, caller.peak]).toEqual([2, 2]);
    controller.abort();
    for (const one of pending) await expect(one).rejects.toMatchObject({ failure: 'aborted' });
    expect(caller.inFlight).toBe(0);
  });
});

describe('FakeClock', () => {
  it('runs what falls due, in order, and only that', () => {
    const clock = new FakeClock(1_000);
    const ran: [string, number][] = [];
    const note = (name: string) => () => ran.push([name, clock.now()]);
    clock.setTimeout(note('late'), 50);
    clock.setTimeout(note('early'), 10);
    const every = clock.setInterval(note('tick'), 20);
    const cancelled = clock.setTimeout(note('never'), 5);
    clock.clearTimeout(cancelled);
    clock.advance(45);
    expect(ran).toEqual([
      ['early', 1_010],
      ['tick', 1_020],
      ['tick', 1_040],
    ]);
    clock.clearInterval(every);
    clock.advance(5);
    expect(ran.at(-1)).toEqual(['late', 1_050]);
    expect([clock.pending, clock.now()]).toEqual([0, 1_050]);
  });
});

describe('FakeMetrics', () => {
  it('gives the same cell each time, and forgets series by label', () => {
    const metrics = new FakeMetrics();
    const family = metrics.counter({ name: 'x_total', help: 'x', labels: ['worker'] });
    expect(metrics.value('x_total', 'a')).toBeUndefined();
    family.cell('a').inc();
    family.cell('a').inc(2);
    family.cell('b').inc();
    expect(metrics.value('x_total', 'a')).toBe(3);
    family.forget('worker', 'a');
    expect(metrics.series('x_total')).toEqual([['b']]);
    expect(() => family.cell('a', 'b')).toThrow(/1 label values/);
  });
});

describe('FakeHead and fakeContext', () => {
  it('compare names without case and refuse illegal values', () => {
    const head = new FakeHead({ headers: { 'Content-Type': 'a' } });
    expect(head.get('content-TYPE')).toBe('a');
    expect(() => head.set('x', 'a\r\nb: c')).toThrow(TypeError);
    expect(fakeContext({ headers: { 'X-A': '1' } }).header('x-a')).toBe('1');
  });
});

describe('arbitraries', () => {
  const arb = arbitraries(fc);

  it('make fleets without duplicates and cuts that add up', () => {
    fc.assert(
      fc.property(arb.fleet, arb.chunking, (fleet, { bytes, chunks }) => {
        expect(new Set(fleet.map(({ url }) => url)).size).toBe(fleet.length);
        expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
      }),
    );
  });

  it('make weight versions that fit a header', () => {
    fc.assert(
      fc.property(arb.weightVersion, (version) => {
        expect(version).toMatch(/^[\x21-\x7e]{1,128}$/);
      }),
    );
  });
});
