import fc from 'fast-check';
import { parseBearer } from './bearer';

describe('parseBearer', () => {
  it.each<[string | undefined, string | undefined]>([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER abc', 'abc'],
    ['bEaReR    abc', 'abc'],
    ['Bearer abc  ', 'abc'],
    ['Bearer a b', 'a b'],
    ['Bearer a:b=~/+', 'a:b=~/+'],
    ['Bearer \u00e9', '\u00e9'],
    [undefined, undefined],
    ['', undefined],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer     ', undefined],
    ['Bearerabc', undefined],
    ['Bearer\tabc', undefined],
    [' Bearer abc', undefined],
    ['Basic abc', undefined],
    ['abc', undefined],
  ])('reads %j as %j', (header, token) => {
    expect(parseBearer(header)).toBe(token);
  });

  it('never throws, and never returns a token with a space at its ends', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, prefixed) => {
        const token = parseBearer(prefixed ? `Bearer ${text}` : text);
        return token === undefined || (token !== '' && !/^ | $/.test(token));
      }),
    );
  });
});
