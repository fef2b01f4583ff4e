import fc from 'fast-check';
import { PrefixTree } from './prefix-tree';

const bytes = (text: string) => Buffer.from(text, 'utf8');

/**
 * The law, written without a tree: texts live on edges of a plain nested structure keyed by single
 * characters, every path node is an object, and eviction looks for the minimum each time.
 */
class NaiveTree {
  private readonly root = new NaiveNode([], undefined);
  private readonly names = new Set<string>();
  private clock = 0;

  add(tenant: string) {
    this.names.add(tenant);
  }

  remove(tenant: string) {
    this.names.delete(tenant);
    this.purge(this.root, tenant);
  }

  reset(tenant: string) {
    if (!this.names.has(tenant)) return;
    this.purge(this.root, tenant);
  }

  match(text: string) {
    const { node, matched } = this.find(Array.from(text));
    return { matched, tenants: node === this.root ? this.names : new Set(node.stamps.keys()) };
  }

  insert(text: string, tenant: string) {
    this.names.add(tenant);
    const letters = Array.from(text);
    let node = this.root;
    let at = 0;
    while (at < letters.length) {
      let next = node.children.find((child) => child.edge[0] === letters[at]);
      if (next === undefined) {
        next = new NaiveNode(letters.slice(at), node);
        node.children.push(next);
      } else {
        const common = shared(letters, at, next.edge);
        if (common < next.edge.length) next = this.split(next, common);
      }
      if (!next.stamps.has(tenant)) next.stamps.set(tenant, 0);
      at += next.edge.length;
      node = next;
    }
    if (node !== this.root) node.stamps.set(tenant, ++this.clock);
  }

  sizeOf(tenant: string) {
    return this.nodes().reduce((sum, n) => sum + (n.stamps.has(tenant) ? n.edge.length : 0), 0);
  }

  size() {
    return this.nodes().reduce((sum, n) => sum + n.stamps.size * n.edge.length, 0);
  }

  evict(max: number) {
    while (this.size() > max) {
      let worst: { node: NaiveNode; tenant: string; stamp: number } | undefined;
      for (const node of this.nodes()) {
        for (const [tenant, stamp] of node.stamps) {
          if (node.children.some((child) => child.stamps.has(tenant))) continue;
          if (worst === undefined || stamp < worst.stamp) worst = { node, tenant, stamp };
        }
      }
      if (worst === undefined) return;
      worst.node.stamps.delete(worst.tenant);
      worst.node.prune();
    }
  }

  private find(letters: string[]) {
    let node = this.root;
    let matched = 0;
    while (matched < letters.length) {
      const next = node.children.find((child) => child.edge[0] === letters[matched]);
      if (next === undefined) break;
      const common = shared(letters, matched, next.edge);
      matched += common;
      node = next;
      if (common < next.edge.length) break;
    }
    return { node, matched };
  }

  private split(lower: NaiveNode, at: number) {
    const upper = new NaiveNode(lower.edge.slice(0, at), lower.parent);
    const siblings = lower.parent!.children;
    siblings[siblings.indexOf(lower)] = upper;
    lower.edge = lower.edge.slice(at);
    lower.parent = upper;
    upper.children.push(lower);
    for (const [tenant, stamp] of lower.stamps) upper.stamps.set(tenant, stamp);
    return upper;
  }

  private purge(node: NaiveNode, tenant: string) {
    for (const child of [...node.children]) this.purge(child, tenant);
    node.stamps.delete(tenant);
    node.prune();
  }

  private nodes(node = this.root): NaiveNode[] {
    return node.children.flatMap((child) => [child, ...this.nodes(child)]);
  }
}

class NaiveNode {
  readonly children: NaiveNode[] = [];
  readonly stamps = new Map<string, number>();

  constructor(
    public edge: string[],
    public parent: NaiveNode | undefined,
  ) {}

  prune() {
    if (this.stamps.size > 0 || this.parent === undefined) return;
    const siblings = this.parent.children;
    const at = siblings.indexOf(this);
    if (at >= 0) siblings.splice(at, 1);
  }
}

function shared(letters: string[], at: number, edge: string[]) {
  let n = 0;
  while (n < edge.length && letters[at + n] === edge[n]) n++;
  return n;
}

const text = fc
  .array(fc.constantFrom('a', 'b', 'é', 'ê', '世', '丗', '😀', '😁'), { maxLength: 12 })
  .map((letters) => letters.join(''));
const tenant = fc.constantFrom('A', 'B', 'C');
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('insert' as const), text, tenant }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('match' as const), text }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('add' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('remove' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('reset' as const), tenant }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('evict' as const),
      max: fc.nat(60),
      slice: fc.integer({ min: 1, max: 50 }),
    }),
  },
);

describe('PrefixTree against a naive model', () => {
  it('agrees on every match, size and eviction of a random history', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (history) => {
        const tree = new PrefixTree(() => 0);
        const naive = new NaiveTree();
        let matches = 0;
        for (const action of history) {
          switch (action.op) {
            case 'insert':
              tree.insert(bytes(action.text), action.tenant);
              naive.insert(action.text, action.tenant);
              break;
            case 'match': {
              // An eighth match would stamp a prefix; the model has no such clock.
              if (++matches === 8) return;
              const found = tree.match(bytes(action.text));
              const expected = naive.match(action.text);
              expect(found.matchedCharacters).toBe(expected.matched);
              expect(found.totalCharacters).toBe(Array.from(action.text).length);
              expect(new Set(found.tenants)).toEqual(expected.tenants);
              break;
            }
            case 'add':
              tree.addTenant(action.tenant);
              naive.add(action.tenant);
              break;
            case 'remove':
              tree.removeTenant(action.tenant);
              naive.remove(action.tenant);
              break;
            case 'reset':
              tree.resetTenant(action.tenant);
              naive.reset(action.tenant);
              break;
            case 'evict':
              while (!tree.evict({ maxCharacters: action.max, slice: action.slice }));
              naive.evict(action.max);
              break;
          }
          expect(tree.size).toBe(naive.size());
          for (const name of ['A', 'B', 'C']) expect(tree.sizeOf(name)).toBe(naive.sizeOf(name));
        }
      }),
      { numRuns: 400 },
    );
  });
});

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
