import { FakeDirectory, FakeEvents, fakeWorker } from '@smg/testing';
import { GateHarness, table } from '../test/gate-harness';
import { CapacityWatch } from './capacity.watch';
import { capacityOf } from './core/worker-capacity';

const worker = (url: string, max?: string, status: 'ready' | 'not_ready' = 'ready') =>
  fakeWorker({
    url,
    status,
    labels: max === undefined ? {} : { max_running_requests: max },
  });

describe('capacityOf', () => {
  it('adds up the ready workers; one that does not say counts 64', () => {
    expect(
      capacityOf([
        worker('http://a', '8'),
        worker('http://b'),
        worker('http://c', 'many'),
        worker('http://d', '0'),
        worker('http://e', '100', 'not_ready'),
      ]),
    ).toBe(8 + 3 * 64);
    expect(capacityOf([])).toBe(0);
  });
});

describe('CapacityWatch', () => {
  const classes = table({ 1: { reservedFloor: 3 } });
  const setUp = (permits: number) => {
    const harness = new GateHarness({ classes, ...(permits > 0 ? { permits } : {}) });
    const directory = new FakeDirectory([]);
    const events = new FakeEvents();
    const watch = new CapacityWatch(harness.gate, classes, permits, directory, events);
    const have = (...workers: ReturnType<typeof worker>[]): number => {
      for (const { url } of directory.all()) directory.remove(url);
      directory.add(...workers);
      events.emit({ kind: 'weights_changed', baseUrl: 'http://a' });
      events.emit({ kind: 'removed', worker: worker('http://gone') });
      return harness.gate.slots.capacity;
    };
    return { have, watch, events };
  };

  it('without workers the limit of requests is the capacity, or what was known last', () => {
    const limited = setUp(5);
    expect(limited.have()).toBe(5);
    expect(limited.have(worker('http://a', '8'))).toBe(8);
    expect(limited.have()).toBe(5);
    const open = setUp(-1);
    expect(open.have()).toBe(Infinity);
    expect(open.have(worker('http://a', '8'))).toBe(8);
    expect(open.have()).toBe(8);
  });

  it('reservations beyond the capacity give way to the limit of requests', () => {
    const { have } = setUp(7);
    expect(have(worker('http://a', '2'))).toBe(7);
    expect(have(worker('http://a', '3'))).toBe(3);
  });

  it('listens no longer than it lives', () => {
    const { watch, events } = setUp(1);
    expect(events.subscribers).toBe(1);
    watch.dispose();
    expect(events.subscribers).toBe(0);
  });
});
