import fc from 'fast-check';
import { readJsonMembers } from './json-members';

const read = (text: string, ...names: string[]) => readJsonMembers(Buffer.from(text), names);

describe('readJsonMembers', () => {
  it.each([
    ['{"v":"a b"}', 'string', '"a b"'],
    ['{"v":7}', 'number', '7'],
    ['{"v":7.0}', 'number', '7.0'],
    ['{"v":-1e+3}', 'number', '-1e+3'],
    ['{"v":18446744073709551616}', 'number', '18446744073709551616'],
    ['{"v":null}', 'null', 'null'],
    ['{"v":true}', 'boolean', 'true'],
    ['{"v":[1,[2],{"a":3}]}', 'array', '[1,[2],{"a":3}]'],
    ['{"v":{"a":[]}}', 'object', '{"a":[]}'],
    [' {\n"x" : [ { } , "}" ] , "v" : "\\"" } ', 'string', '"\\""'],
    ['{"\\u0076":1}', 'number', '1'],
    ['{"x":"\\\\","v":1}', 'number', '1'],
  ])('reads %s', (text, kind, lexeme) => {
    expect(read(text, 'v')?.get('v')).toEqual({ kind, lexeme, repeated: false });
  });

  it('sees the last of a repeated name, and says so', () => {
    expect(read('{"v":1,"w":0,"v":"2"}', 'v')?.get('v')).toEqual({
      kind: 'string',
      lexeme: '"2"',
      repeated: true,
    });
  });

  it('looks at the top level only', () => {
    expect(read('{"x":{"v":1},"y":[{"v":2}]}', 'v')?.size).toBe(0);
  });

  it.each([
    '',
    ' ',
    '[]',
    '"v"',
    '1',
    'null',
    '{',
    '{"v":1',
    '{"v":1,}',
    '{"v":1}}',
    '{"v":1} x',
    '{"v"}',
    '{v:1}',
    '{"v":}',
    '{"v":01}',
    '{"v":1.}',
    '{"v":+1}',
    '{"v":tru}',
    '{"v":"a}',
    '{"v":"\\x"}',
    '{"v":"a\nb"}',
    '{"x":[1,],"v":1}',
    '{"x":[1 2],"v":1}',
    '{"x":[}],"v":1}',
    '{"x":{"a"},"v":1}',
    '{"x":{"a":1,},"v":1}',
    '{"x":{1:1},"v":1}',
    '{,"v":1}',
  ])('refuses %j', (text) => {
    expect(read(text, 'v')).toBeUndefined();
  });

  it('refuses nesting no engine takes, without a deep stack', () => {
    const deep = (levels: number) => `{"x":${'['.repeat(levels)}${']'.repeat(levels)},"v":1}`;
    expect(read(deep(100), 'v')?.get('v')?.lexeme).toBe('1');
    expect(read(deep(100_000), 'v')).toBeUndefined();
  });

  it('agrees with JSON.parse on every object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (object, pretty) => {
        const text = JSON.stringify(object, undefined, pretty ? 2 : undefined);
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const names = Object.keys(parsed);
        const members = read(text, ...names);
        expect(members?.size).toBe(names.length);
        for (const name of names) {
          expect(JSON.parse(members?.get(name)?.lexeme ?? '')).toEqual(parsed[name]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('accepts an object that was cut nowhere but at its end', () => {
    const text = '{"a":[1,{"b":"c\\"d"},null],"v":"x","e":-1.5e3}';
    for (let end = 0; end < text.length; end++) {
      expect(read(text.slice(0, end), 'v')).toBeUndefined();
    }
    expect(read(text, 'v')?.get('v')?.lexeme).toBe('"x"');
  });
});
