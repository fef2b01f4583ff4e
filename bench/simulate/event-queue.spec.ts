import fc from 'fast-check';
import { EventQueue } from './event-queue';

describe('EventQueue', () => {
  it('runs events by time, and those of one instant in the order they were scheduled', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 }), (times) => {
        const queue = new EventQueue();
        const seen: [number, number][] = [];
        times.forEach((at, turn) => {
          queue.at(at, () => seen.push([queue.now, turn]));
        });
        while (queue.step());
        const expected = times
          .map((at, turn): [number, number] => [at, turn])
          .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        expect(seen).toEqual(expected);
      }),
    );
  });

  it('takes what an event schedules, never before now', () => {
    const queue = new EventQueue();
    const seen: string[] = [];
    queue.at(10, () => {
      queue.at(3, () => seen.push(`late at ${queue.now}`));
      queue.after(5, () => seen.push(`after at ${queue.now}`));
    });
    while (queue.step());
    expect(seen).toEqual(['late at 10', 'after at 15']);
  });
});
