import fc from 'fast-check';
import { JsonWatch } from './json-watch';

function seenWhole(bytes: Buffer, size: number): boolean {
  const watch = new JsonWatch();
  for (let at = 0; at < bytes.length; at += size) watch.see(bytes.subarray(at, at + size));
  return watch.isComplete;
}

describe('JsonWatch', () => {
  it('sees every cut inside an object, and none in a whole one, however the bytes arrive', () => {
    const size = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.json()), fc.nat(), size, (value, at, step) => {
        const whole = Buffer.from(JSON.stringify(value));
        expect(seenWhole(whole, step)).toBe(true);
        expect(seenWhole(whole.subarray(0, at % whole.length), step)).toBe(false);
      }),
    );
  });

  it('takes lines of JSON for whole after any whole line', () => {
    expect(seenWhole(Buffer.from('{"a":1}\n{"b":[]}\n'), 3)).toBe(true);
    expect(seenWhole(Buffer.from('{"a":1}\n{"b":['), 3)).toBe(false);
  });

  it.each([
    ['application/json', true],
    [' Application/JSON; charset=utf-8', true],
    ['application/problem+json', true],
    ['application/x-ndjson', true],
    ['application/jsonp', false],
    ['text/html', false],
    ['', false],
  ])('covers %j: %s', (type, isCovered) => {
    expect(JsonWatch.covers(type)).toBe(isCovered);
  });
});
