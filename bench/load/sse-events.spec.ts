import * as fc from 'fast-check';
import { EventCounter, timedEvent } from './sse-events';

describe('EventCounter', () => {
  it('sees every stamp once, however the bytes are cut', () => {
    const stamps = [1, 1_234_567_890_123_456, 42, 7];
    const wire = Buffer.concat(stamps.map((stamp) => timedEvent(stamp)));
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: wire.length - 1 }), { maxLength: 30 }),
        (cuts) => {
          const seen: number[] = [];
          const counter = new EventCounter((stamp) => seen.push(stamp));
          const edges = [0, ...[...cuts].sort((a, b) => a - b), wire.length];
          for (let i = 1; i < edges.length; i += 1) {
            counter.push(wire.subarray(edges[i - 1], edges[i]));
          }
          expect(seen).toEqual(stamps);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('frames an event as one HTTP chunk of the size it states', () => {
    const frame = timedEvent(5).toString('latin1');
    const [size, event, end] = [frame.split('\r\n')[0]!, frame.split('\r\n')[1]!, frame.slice(-2)];
    expect(Number.parseInt(size, 16)).toBe(event.length);
    expect(end).toBe('\r\n');
    expect(JSON.parse(event.slice('data: '.length))).toMatchObject({ t: '0000000000000005' });
  });
});
