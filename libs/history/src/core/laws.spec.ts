import { ConversationError } from './history-errors';
import { isPlainId, newItemId } from './ids';
import { inputItemsOf, readItems } from './items';
import { mergeMetadata, readMetadata } from './metadata';
import { pageOf } from './page';
import { readPageQuery } from './page-query';

const random = (): string => 'ab';
const refusal = (work: () => unknown): ConversationError => {
  try {
    work();
  } catch (error) {
    if (error instanceof ConversationError) return error;
    throw error;
  }
  throw new Error('not refused');
};

describe('ids', () => {
  it.each(['conv_1', 'msg-1', 'a.b:c', 'x'.repeat(256)])('%s can be stored', (id) => {
    expect(isPlainId(id)).toBe(true);
  });

  it.each(['', 'a b', 'a/b', 'é', 'a\u0000', 'a\n', 'x'.repeat(257)])('%j cannot', (id) => {
    expect(isPlainId(id)).toBe(false);
  });

  it('say what they are of', () => {
    expect(newItemId('function_call', random)).toBe('fc_ab');
    expect(newItemId('something new', random)).toBe('item_ab');
  });
});

describe('metadata', () => {
  it('is undefined when nothing is given', () => {
    expect(readMetadata(undefined)).toBeUndefined();
    expect(readMetadata(null)).toBeUndefined();
  });

  it.each([
    ['text', 'must be an object'],
    [[], 'must be an object'],
    [{ ['k'.repeat(65)]: 'v' }, '64 characters'],
    [{ k: 'v'.repeat(513) }, '512 characters'],
    [{ k: {} }, 'strings, numbers or booleans'],
    [Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])), 'at most 16'],
  ])('%j is refused', (value, message) => {
    const error = refusal(() => readMetadata(value));
    expect(error.status).toBe(400);
    expect(error.message).toContain(message);
  });

  it('merges; null takes away; nothing given changes nothing', () => {
    expect(mergeMetadata({ a: '1', b: '2' }, { b: null, c: '3' })).toEqual({ a: '1', c: '3' });
    expect(mergeMetadata({ a: '1' }, undefined)).toEqual({ a: '1' });
    expect(mergeMetadata(undefined, { a: null })).toEqual({});
  });

  it('counts what is there after the merge', () => {
    const sixteen = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'v']));
    expect(() => mergeMetadata(sixteen, { more: 'v' })).toThrow('at most 16');
    expect(Object.keys(mergeMetadata(sixteen, { more: 'v', k0: null }) ?? {})).toHaveLength(16);
  });

  it('has no key with a meaning of its own', () => {
    const odd = JSON.parse('{"__proto__":"v"}') as unknown;
    const merged = mergeMetadata({}, readMetadata(odd));
    expect(JSON.stringify(merged)).toBe('{"__proto__":"v"}');
  });
});

describe('items', () => {
  it('get an id and a type; all else stays', () => {
    const [item] = readItems([{ role: 'user', content: 'x', extra: [1] }], random);
    expect(item?.kind).toBe('item');
    expect(JSON.parse(item?.kind === 'item' ? item.body : '')).toEqual({
      role: 'user',
      content: 'x',
      extra: [1],
      id: 'msg_ab',
      type: 'message',
    });
  });

  it('may be references', () => {
    const items = readItems([{ type: 'item_reference', id: 'msg_1' }], random);
    expect(items).toEqual([{ kind: 'reference', id: 'msg_1' }]);
  });

  it('are refused when one id comes twice', () => {
    const twice = [
      { type: 'item_reference', id: 'msg_1' },
      { type: 'message', id: 'msg_1' },
    ];
    const error = refusal(() => readItems(twice, random));
    expect(error.body()).toMatchObject({ error: { code: 'item_already_in_conversation' } });
  });

  it.each([
    ['x', 'must be an array'],
    [Array.from({ length: 21 }, () => ({})), 'more than 20 items'],
    [[{ type: 'poem' }], 'unsupported item type "poem"'],
    [[{}], 'unsupported item type none'],
    [[{ type: 7, role: 'user' }], 'unsupported item type none'],
    [[{ type: 'message', id: 'a b' }], 'an id has'],
    [[{ type: 'message', id: 7 }], 'an id has'],
    [[{ type: 'item_reference' }], 'needs an id'],
  ])('%j is refused', (value, message) => {
    expect(refusal(() => readItems(value, random)).message).toContain(message);
  });

  it('nested too deeply to be written are refused, not a fault', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    const error = refusal(() => readItems([{ type: 'message', content: deep }], random));
    expect(error.message).toContain('too deeply');
  });

  it('of a request are read without refusing anything', () => {
    expect(inputItemsOf(undefined, random)).toEqual([]);
    const odd = inputItemsOf(['text', { type: 'poem', id: 'a b' }, { role: 'user' }], random);
    expect(odd.map(({ id, type }) => [id, type])).toEqual([
      ['item_ab', 'poem'],
      ['msg_ab', 'message'],
    ]);
  });
});

describe('pages', () => {
  it('have defaults', () => {
    expect(readPageQuery({})).toEqual({ limit: 100, order: 'desc', after: undefined });
    expect(readPageQuery({ limit: '1', order: 'asc', after: 'a', include: 'x' })).toEqual({
      limit: 1,
      order: 'asc',
      after: 'a',
    });
  });

  it.each([
    { limit: '0' },
    { limit: '101' },
    { limit: '-1' },
    { limit: '1.5' },
    { limit: ['1', '2'] },
    { order: 'up' },
    { after: 'a b' },
  ])('%j is refused', (query) => {
    expect(refusal(() => readPageQuery(query)).status).toBe(400);
  });

  it('cover every item once, whatever their size', () => {
    const items = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, body: '{}' }));
    for (const order of ['asc', 'desc'] as const) {
      for (const limit of [1, 2, 3, 5, 9]) {
        const seen: string[] = [];
        let after: string | undefined;
        for (let full = true; full;) {
          const page = pageOf(items, { limit, order, after });
          if (page.kind !== 'page') throw new Error(page.kind);
          seen.push(...page.items.map(({ id }) => id));
          after = seen.at(-1);
          full = page.isFull;
        }
        expect(seen.join('')).toBe(order === 'asc' ? 'abcde' : 'edcba');
      }
    }
  });
});
