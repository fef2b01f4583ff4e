import { Logger } from '@nestjs/common';
import { WorkerEventBus } from './worker-event.bus';

const EVENT = { kind: 'weights_changed', baseUrl: 'http://h:1' } as const;

describe('WorkerEventBus', () => {
  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  it('delivers in order, past a listener that throws', () => {
    const bus = new WorkerEventBus();
    const seen: string[] = [];
    bus.subscribe(() => seen.push('first'));
    bus.subscribe(() => {
      throw new Error('bad listener');
    });
    bus.subscribe(() => seen.push('last'));
    bus.emit(EVENT);
    expect(seen).toEqual(['first', 'last']);
  });

  it('ends exactly one subscription, also of a function subscribed twice and during delivery', () => {
    const bus = new WorkerEventBus();
    let count = 0;
    const listener = () => {
      count++;
    };
    const end = bus.subscribe(listener);
    bus.subscribe(listener);
    bus.subscribe(() => {
      end();
    });
    bus.emit(EVENT);
    bus.emit(EVENT);
    expect(count).toBe(3);
  });
});
