import * as fc from 'fast-check';
import { jsonFault } from './json-fault';

const isJson = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('jsonFault', () => {
  it.each([
    ['{\n  "a": sk-1\n}', 2, 8],
    ['{"a":1,}', 1, 8],
    ['{"a":1} x', 1, 9],
    ['', 1, 1],
    ['[1 2]', 1, 4],
    ['{a:1}', 1, 2],
    ['["a\nb"]', 1, 2],
  ])('%j breaks at %d:%d', (text, line, column) => {
    expect(jsonFault(text)).toEqual({ line, column });
  });

  it('stays inside the text, and reaches its end when it is JSON', () => {
    const edited = fc
      .tuple(fc.json(), fc.nat(), fc.nat({ max: 2 }), fc.constantFrom('', ',', '"', '}', '0', '\\'))
      .map(([text, at, drop, put]) => {
        const cut = at % (text.length + 1);
        return text.slice(0, cut) + put + text.slice(cut + drop);
      });
    fc.assert(
      fc.property(edited, (text) => {
        const { line, column } = jsonFault(text);
        const lines = text.split('\n');
        const atEnd = line === lines.length && column === (lines.at(-1)?.length ?? 0) + 1;
        if (isJson(text)) expect(atEnd).toBe(true);
        else expect(lines[line - 1]?.length ?? -1).toBeGreaterThanOrEqual(column - 1);
      }),
      { numRuns: 500 },
    );
  });

  it('survives any depth', () => {
    expect(jsonFault('['.repeat(200_000)).line).toBe(1);
  });
});
