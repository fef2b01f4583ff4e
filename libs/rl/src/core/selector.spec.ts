import fc from 'fast-check';
import { matchSelector, parseSelector, printSelector, type Selector } from './selector';

const LABELS = new Map([
  ['engine', 'sglang'],
  ['tp_size', '2'],
  ['role', 'policy'],
]);

function matches(text: string): boolean | string {
  const parsed = parseSelector(text);
  if (!parsed.ok) return `${parsed.offset}: ${parsed.why}`;
  return matchSelector(parsed.selector, (key) => LABELS.get(key));
}

function terms(text: string): Selector {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.selector;
}

describe('parseSelector and matchSelector', () => {
  it.each([
    ['engine=sglang', true],
    ['engine=vllm', false],
    ['engine!=vllm', true],
    ['engine!=sglang', false],
    ['tp_size in (1,2,4)', true],
    ['tp_size in (8)', false],
    ['role notin (reward, judge)', true],
    ['role notin (policy)', false],
    ['engine=sglang, tp_size=2', true],
    ['engine=sglang,tp_size=4', false],
    ['  engine = sglang ,  role = policy  ', true],
    ['engine in(sglang,vllm)', true],
    ['engine notin(vllm)', true],
    ['missing=x', false],
    ['missing in (x)', false],
    ['missing!=x', true],
    ['missing notin (x)', true],
    ['role="policy"', true],
    ['role="pol\\"icy"', false],
    ['engine=sglang,engine!=vllm', true],
    ['engine\u00a0=\u2003sglang', true],
    ['engine=SGLANG', false],
  ])('%s matches: %s', (text, expected) => {
    expect(matches(text)).toBe(expected);
  });

  it.each([
    ['model_path="/models/a,b"', 'model_path', '/models/a,b'],
    ['q="say \\"hi\\""', 'q', 'say "hi"'],
    ['q="a\\\\b"', 'q', 'a\\b'],
    ['url=http://h:1@0', 'url', 'http://h:1@0'],
    ['a=b=c', 'a', 'b=c'],
    ['a=b==c', 'a', 'b==c'],
    ['a=!b', 'a', '!b'],
    ['a=""', 'a', ''],
    ['smg.ai/pool=x-1', 'smg.ai/pool', 'x-1'],
    ['a=é', 'a', 'é'],
    ['a=b;c=d', 'a', 'b;c=d'],
    ['a=b\\c', 'a', 'b\\c'],
    ['in=x', 'in', 'x'],
    ['in in (x)', 'in', undefined],
    ['a="𝄞"', 'a', '𝄞'],
  ])('%s', (text, key, value) => {
    const [term] = terms(text);
    expect(term?.key).toBe(key);
    if (value !== undefined) expect(term).toMatchObject({ operator: '=', value });
  });

  it('reads quoted and bare values of a list', () => {
    expect(terms('a in ( b , "c d" )')).toEqual([
      { key: 'a', operator: 'in', values: ['b', 'c d'] },
    ]);
  });

  it.each([
    ['', 0],
    ['=x', 0],
    ['engine', 6],
    ['engine==x', 7],
    ['engine in x', 10],
    ['engine in (a,', 13],
    ['engine=a b', 9],
    ['engine="unterminated', 20],
    ['engine=a,', 9],
    ['engine=', 7],
    ['!engine', 0],
    ['a=b,,c=d', 4],
    ['a!b', 1],
    ['a NOTIN (b)', 2],
    ['a in ()', 6],
    ['a in (b,)', 8],
    ['a in (b c)', 8],
    ['a in (b', 7],
    ['a="x"y', 5],
    ['a=x"y"', 3],
    ['é=x', 0],
    ['a=é b', 5],
    ['a="𝄞" b', 9],
    ['a="b\\nc"', 6],
    ['a="b\\𝄞"', 9],
    ['a="b\\', 5],
    ['enginein(a)', 8],
    ['a=b or c=d', 4],
    ['a in', 2],
    ['a=(b)', 2],
    ['engine!=', 8],
    ['a)', 1],
  ])('%j fails at byte %i', (text, offset) => {
    expect(parseSelector(text)).toMatchObject({ ok: false, offset });
  });

  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', 'a,b', '"', '\\', ' ', '=', 'http://h:1@0', 'in', 'é'),
  );
  const key = fc.stringMatching(/^[A-Za-z0-9_./-]{1,8}$/);
  const selector = fc.array(
    fc.oneof(
      fc.record({ key, operator: fc.constantFrom('=' as const, '!=' as const), value }),
      fc.record({
        key,
        operator: fc.constantFrom('in' as const, 'notin' as const),
        values: fc.array(value, { minLength: 1, maxLength: 3 }),
      }),
    ),
    { minLength: 1, maxLength: 4 },
  );

  it('reads back what it prints', () => {
    fc.assert(
      fc.property(selector, (original) => {
        expect(parseSelector(printSelector(original))).toEqual({ ok: true, selector: original });
      }),
      { numRuns: 500 },
    );
  });

  it('never throws, and points inside the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...Array.from('ab=!,()" \\inot𝄞é')) }),
        (text) => {
          const parsed = parseSelector(text);
          if (!parsed.ok) expect(parsed.offset).toBeLessThanOrEqual(Buffer.byteLength(text));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
