import { TokenTree } from './token-tree';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('TokenTree', () => {
  it('keeps and matches whole pages only, and counts the whole input', () => {
    const tree = new TokenTree(() => 0, 16);
    tree.insert(range(0, 40), 'A');
    expect(tree.size).toBe(32);
    expect(tree.match(range(0, 40))).toEqual({
      matchedTokens: 32,
      totalTokens: 40,
      tenants: ['A'],
    });
    // The second page differs in its last token.
    expect(tree.match([...range(0, 31), 99]).matchedTokens).toBe(16);
  });

  it('neither keeps nor matches what is shorter than a page', () => {
    const tree = new TokenTree(() => 0, 16);
    tree.addTenant('B');
    tree.insert(range(0, 15), 'A');
    expect(tree.size).toBe(0);
    tree.insert(range(0, 16), 'A');
    const found = tree.match(range(0, 15));
    expect(found).toMatchObject({ matchedTokens: 0, totalTokens: 15 });
    // Nothing matched: everyone holds the empty prefix.
    expect(new Set(found.tenants)).toEqual(new Set(['A', 'B']));
  });

  it('keeps nothing of the array it was given, nor of the one before', () => {
    const tree = new TokenTree(() => 0, 2);
    const ids = Uint32Array.from([1, 2, 3, 4]);
    tree.insert(ids, 'A');
    ids.fill(9);
    tree.insert([5, 6], 'A');
    expect(tree.match([1, 2, 3, 4]).matchedTokens).toBe(4);
    expect(tree.match([5, 6]).matchedTokens).toBe(2);
  });

  it('reads a view into a larger array', () => {
    const tree = new TokenTree(() => 0, 2);
    tree.insert([3, 4], 'A');
    expect(tree.match(Uint32Array.from([1, 2, 3, 4]).subarray(2)).matchedTokens).toBe(2);
  });

  it('finds long inputs, beyond what it converts in kept memory', () => {
    const tree = new TokenTree(() => 0, 16);
    const long = range(0, 200_000);
    tree.insert(long, 'A');
    expect(tree.match(long).matchedTokens).toBe(200_000);
  });

  it('evicts whole leaves, least recently used first', () => {
    const tree = new TokenTree(() => 0, 2);
    tree.insert([1, 1, 2, 2], 'A');
    tree.insert([1, 1, 3, 3], 'A');
    tree.evict({ maxCharacters: 4 });
    expect(tree.match([1, 1, 3, 3]).matchedTokens).toBe(4);
    expect(tree.match([1, 1, 2, 2]).matchedTokens).toBe(2);
  });

  it('keeps the first of two pages that look alike to it, and never mistakes one for the other', () => {
    const tree = new TokenTree(
      () => 0,
      1,
      () => 0,
    );
    const units = (tree as unknown as { units: { keyAt: () => number } }).units;
    units.keyAt = () => 7;
    tree.insert([1], 'A');
    tree.insert([2], 'B');
    expect(tree.match([1])).toMatchObject({ matchedTokens: 1, tenants: ['A'] });
    expect(tree.match([2]).matchedTokens).toBe(0);
    expect(tree.size).toBe(1);
  });
});
