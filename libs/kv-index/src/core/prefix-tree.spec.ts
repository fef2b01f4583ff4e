import fc from 'fast-check';
import { PrefixTree } from './prefix-tree';

const bytes = (text: string) => Buffer.from(text, 'utf8');

describe('PrefixTree', () => {
  it('counts characters, not bytes, and never cuts one', () => {
    const tree = new PrefixTree(() => 0);
    tree.insert(bytes('世界'), 'A');
    // 世 and 丗 share their first byte; 界 and 畍 their first two.
    expect(tree.match(bytes('世畍'))).toEqual({
      matchedCharacters: 1,
      totalCharacters: 2,
      tenants: ['A'],
    });
    expect(tree.match(bytes('丗')).matchedCharacters).toBe(0);
    expect(tree.size).toBe(2);
  });

  it('finds a difference that lies beyond the first comparison window', () => {
    const tree = new PrefixTree(() => 0);
    const long = 'x'.repeat(1000);
    tree.insert(bytes(long), 'A');
    expect(tree.match(bytes(`${'x'.repeat(777)}y`)).matchedCharacters).toBe(777);
  });

  it('keeps nothing of the buffer it was given', () => {
    const tree = new PrefixTree(() => 0);
    const request = bytes('hello world');
    tree.insert(request, 'A');
    request.fill(0);
    expect(tree.match(bytes('hello world')).matchedCharacters).toBe(11);
  });

  it('answers the root tenants when nothing matches, and no more than asked for', () => {
    const tree = new PrefixTree(() => 0);
    for (const name of ['A', 'B', 'C']) tree.addTenant(name);
    expect(tree.match(bytes('zzz')).tenants).toEqual(['A', 'B', 'C']);
    expect(tree.match(bytes('zzz'), 2).tenants).toEqual(['A', 'B']);
  });

  it('keeps a reset tenant known while its prefixes are gone at once', () => {
    const tree = new PrefixTree(() => 0);
    tree.insert(bytes('shared prompt'), 'A');
    tree.insert(bytes('shared prompt'), 'B');
    tree.resetTenant('A');
    expect(tree.match(bytes('shared prompt')).tenants).toEqual(['B']);
    tree.resetTenant('B');
    expect(tree.match(bytes('shared prompt')).matchedCharacters).toBe(0);
    expect(new Set(tree.match(bytes('')).tenants)).toEqual(new Set(['A', 'B']));
    expect(tree.size).toBe(0);
  });

  it('evicts the least recently used text first; a match now and then keeps one alive', () => {
    const tree = new PrefixTree(() => 0);
    tree.insert(bytes('aaaa'), 'A');
    tree.insert(bytes('bbbb'), 'A');
    for (let i = 0; i < 8; i++) tree.match(bytes('aaaa'));
    expect(tree.evict({ maxCharacters: 4 })).toBe(true);
    expect(tree.match(bytes('aaaa')).matchedCharacters).toBe(4);
    expect(tree.match(bytes('bbbb')).matchedCharacters).toBe(0);
  });

  it('lets idle prefixes go although there is room', () => {
    let now = 1_000;
    const tree = new PrefixTree(() => now);
    tree.insert(bytes('old'), 'A');
    now = 5_000;
    tree.insert(bytes('new'), 'A');
    now = 6_000;
    tree.evict({ maxCharacters: 1_000, maxIdleMs: 2_000 });
    expect(tree.match(bytes('old')).matchedCharacters).toBe(0);
    expect(tree.match(bytes('new')).matchedCharacters).toBe(3);
  });

  it('works in slices: no call drops more than it was allowed', () => {
    const tree = new PrefixTree(() => 0);
    for (let i = 0; i < 100; i++) tree.insert(bytes(String.fromCharCode(200 + i)), 'A');
    expect(tree.evict({ maxCharacters: 0, slice: 30 })).toBe(false);
    expect(tree.size).toBe(70);
    tree.removeTenant('A');
    expect(tree.size).toBe(0);
    let calls = 1;
    while (!tree.evict({ maxCharacters: 0, slice: 30 })) calls++;
    expect(calls).toBe(3);
  });

  it('stays consistent when it is fed bytes that are no UTF-8', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 12 }), (inputs) => {
        const tree = new PrefixTree(() => 0);
        for (const input of inputs) tree.insert(Buffer.from(input), 'A');
        for (const input of inputs) {
          const found = tree.match(Buffer.from(input));
          expect(found.matchedCharacters).toBeLessThanOrEqual(found.totalCharacters);
        }
        while (!tree.evict({ maxCharacters: 0 }));
        expect(tree.size).toBe(0);
      }),
    );
  });
});
