import fc from 'fast-check';
import { byteLengthOfCharacters, countCharacters } from './utf8';

const letters = fc.array(fc.constantFrom('a', 'é', '世', '😀'), { maxLength: 900 });

describe('characters', () => {
  it('are counted as code points, at any alignment', () => {
    fc.assert(
      fc.property(letters, fc.nat(7), (input, offset) => {
        const text = input.join('');
        const bytes = Buffer.from('x'.repeat(offset) + text).subarray(offset);
        expect(countCharacters(bytes)).toBe(input.length);
      }),
    );
  });

  it('are counted right where every byte is a continuation or none is', () => {
    for (const letter of ['😀', '世', 'é', 'a']) {
      expect(countCharacters(Buffer.from(letter.repeat(5_000)))).toBe(5_000);
    }
    // A stray run belongs to what precedes it; at the start it is one character.
    expect(countCharacters(Buffer.alloc(5_000, 0x80))).toBe(1);
  });

  it('say how many bytes the first of them take', () => {
    fc.assert(
      fc.property(letters, fc.nat(1_000), fc.nat(3), (input, count, offset) => {
        const bytes = Buffer.from('x'.repeat(offset) + input.join('')).subarray(offset);
        const expected = Buffer.byteLength(input.slice(0, count).join(''));
        expect(byteLengthOfCharacters(bytes, count)).toBe(expected);
      }),
    );
  });

  it('are never cut after an ASCII beginning', () => {
    expect(byteLengthOfCharacters(Buffer.from('ab世'), 2)).toBe(2);
    expect(byteLengthOfCharacters(Buffer.from('ab世'), 3)).toBe(5);
    expect(byteLengthOfCharacters(Buffer.from('ab'), 9)).toBe(2);
    expect(byteLengthOfCharacters(Buffer.alloc(0), 9)).toBe(0);
  });

  it('take a run of stray continuations with them', () => {
    const stray = Buffer.from([0x61, 0x80, 0x80, 0x62]);
    expect(byteLengthOfCharacters(stray, 1)).toBe(3);
    expect(countCharacters(stray)).toBe(2);
  });
});
