import fc from 'fast-check';
import { isCutJson } from './cut-json';

const JSON_TYPE = ['Content-Type', 'application/json; charset=utf-8'];

describe('isCutJson', () => {
  it('sees every cut inside an object, and none in a whole one', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.json()), fc.nat(), (value, at) => {
        const whole = Buffer.from(JSON.stringify(value));
        expect(isCutJson(JSON_TYPE, whole)).toBe(false);
        expect(isCutJson(JSON_TYPE, whole.subarray(0, at % whole.length))).toBe(true);
      }),
    );
  });

  it.each([
    ['another type', ['content-type', 'text/html']],
    ['no type', []],
    ['an encoded body', [...JSON_TYPE, 'content-encoding', 'gzip']],
  ])('lets %s pass', (_what, headers) => {
    expect(isCutJson(headers, Buffer.from('{'))).toBe(false);
  });
});
