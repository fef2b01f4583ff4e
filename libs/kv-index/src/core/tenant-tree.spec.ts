import fc from 'fast-check';
import { PrefixTree } from './prefix-tree';
import { TokenTree } from './token-tree';

/** More than a node looks through one by one. */
const TENANTS = Array.from('ABCDEFGHIJKL');

/**
 * The law, written without a tree's bookkeeping: paths are arrays of units, a unit is any string,
 * sizes are summed up each time, and eviction looks for the minimum each time.
 */
class NaiveTree {
  private readonly root = new NaiveNode([], undefined);
  private readonly names = new Set<string>();
  private clock = 0;

  /** @param unitLength what a unit counts. */
  constructor(private readonly unitLength: number) {}

  add(tenant: string) {
    this.names.add(tenant);
  }

  remove(tenant: string) {
    this.names.delete(tenant);
    this.purge(this.root, tenant);
  }

  reset(tenant: string) {
    if (this.names.has(tenant)) this.purge(this.root, tenant);
  }

  match(path: readonly string[]) {
    let node = this.root;
    let matched = 0;
    while (matched < path.length) {
      const next = node.children.find((child) => child.edge[0] === path[matched]);
      if (next === undefined) break;
      const common = shared(path, matched, next.edge);
      matched += common;
      node = next;
      if (common < next.edge.length) break;
    }
    const tenants = node === this.root ? this.names : new Set(node.stamps.keys());
    return { matched: matched * this.unitLength, tenants };
  }

  insert(path: readonly string[], tenant: string) {
    this.names.add(tenant);
    let node = this.root;
    let at = 0;
    while (at < path.length) {
      let next = node.children.find((child) => child.edge[0] === path[at]);
      if (next === undefined) {
        next = new NaiveNode(path.slice(at), node);
        node.children.push(next);
      } else {
        const common = shared(path, at, next.edge);
        if (common < next.edge.length) next = this.split(next, common);
      }
      if (!next.stamps.has(tenant)) next.stamps.set(tenant, 0);
      at += next.edge.length;
      node = next;
    }
    if (node !== this.root) node.stamps.set(tenant, ++this.clock);
  }

  sizeOf(tenant: string) {
    return this.sum((node) => (node.stamps.has(tenant) ? node.edge.length : 0)) * this.unitLength;
  }

  size() {
    return this.sum((node) => node.stamps.size * node.edge.length) * this.unitLength;
  }

  holdings() {
    return this.sum((node) => node.stamps.size);
  }

  evict(max: number, maxHoldings: number) {
    while (this.size() > max || this.holdings() > maxHoldings) {
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

  private sum(of: (node: NaiveNode) => number) {
    return this.nodes().reduce((sum, node) => sum + of(node), 0);
  }

  private nodes(node = this.root): NaiveNode[] {
    return node.children.flatMap((child) => [child, ...this.nodes(child)]);
  }
}

class NaiveNode {
  readonly children: NaiveNode[] = [];
  readonly stamps = new Map<string, number>();

  constructor(
    public edge: readonly string[],
    public parent: NaiveNode | undefined,
  ) {}

  prune() {
    if (this.stamps.size > 0 || this.parent === undefined) return;
    const siblings = this.parent.children;
    const at = siblings.indexOf(this);
    if (at >= 0) siblings.splice(at, 1);
  }
}

function shared(path: readonly string[], at: number, edge: readonly string[]) {
  let n = 0;
  while (n < edge.length && path[at + n] === edge[n]) n++;
  return n;
}

type Step<Input> =
  | { op: 'insert'; input: Input; tenant: string }
  | { op: 'match'; input: Input }
  | { op: 'add' | 'remove' | 'reset'; tenant: string }
  | { op: 'evict'; max: number; maxHoldings: number; slice: number };

function historyOf<Input>(input: fc.Arbitrary<Input>): fc.Arbitrary<Step<Input>[]> {
  const tenant = fc.constantFrom(...TENANTS);
  const evict = fc.record({
    op: fc.constant('evict' as const),
    max: fc.nat(150),
    maxHoldings: fc.oneof(fc.nat(40), fc.constant(1_000)),
    slice: fc.integer({ min: 1, max: 50 }),
  });
  return fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.record({ op: fc.constant('insert' as const), input, tenant }) },
      { weight: 3, arbitrary: fc.record({ op: fc.constant('match' as const), input }) },
      {
        weight: 2,
        arbitrary: fc.record({ op: fc.constantFrom('add', 'remove', 'reset'), tenant }),
      },
      { weight: 2, arbitrary: evict },
    ),
    { maxLength: 60, size: 'max' },
  );
}

/** What the two kinds of tree look like to a history. */
interface Subject<Input> {
  readonly tree: PrefixTree | TokenTree;
  insert(input: Input, tenant: string): void;
  match(input: Input): { matched: number; total: number; tenants: readonly string[] };
  pathOf(input: Input): readonly string[];
  readonly unitLength: number;
}

/** Plays a history on a tree and on the model. */
function agree<Input extends { readonly length: number }>(
  history: readonly Step<Input>[],
  subject: Subject<Input>,
) {
  const { tree } = subject;
  const naive = new NaiveTree(subject.unitLength);
  let matches = 0;
  const compare = (input: Input) => {
    const found = subject.match(input);
    const expected = naive.match(subject.pathOf(input));
    expect(found.matched).toBe(expected.matched);
    expect(found.total).toBe(Array.from(input as ArrayLike<unknown>).length);
    expect(new Set(found.tenants)).toEqual(expected.tenants);
    expect(found.tenants).toHaveLength(expected.tenants.size);
  };
  for (const step of history) {
    switch (step.op) {
      case 'insert':
        subject.insert(step.input, step.tenant);
        naive.insert(subject.pathOf(step.input), step.tenant);
        break;
      case 'match':
        // An eighth match would stamp a prefix; the model has no such clock.
        if (++matches < 8) compare(step.input);
        break;
      case 'add':
        tree.addTenant(step.tenant);
        naive.add(step.tenant);
        break;
      case 'remove':
        tree.removeTenant(step.tenant);
        naive.remove(step.tenant);
        break;
      case 'reset':
        tree.resetTenant(step.tenant);
        naive.reset(step.tenant);
        break;
      case 'evict': {
        const { max: maxCharacters, maxHoldings, slice } = step;
        while (!tree.evict({ maxCharacters, maxHoldings, slice }));
        naive.evict(maxCharacters, maxHoldings);
        expect(tree.holdingCount).toBe(naive.holdings());
        break;
      }
    }
    expect(tree.size).toBe(naive.size());
  }
  for (const name of TENANTS) expect(tree.sizeOf(name)).toBe(naive.sizeOf(name));
  // Nothing is evicted any more, so stamps are no matter.
  for (const step of history) if (step.op === 'insert') compare(step.input);
}

const text = fc
  .array(fc.constantFrom('a', 'b', 'é', 'ê', '世', '丗', '😀', '😁'), { maxLength: 6 })
  .map((letters) => letters.join(''));
// Ids that differ in one byte only, up to the largest.
const tokens = fc.array(fc.constantFrom(1, 2, 257, 65_537, 4_294_967_295), { maxLength: 8 });

describe('against a naive model', () => {
  it('a text tree agrees on every match, size and eviction of a random history', () => {
    fc.assert(
      fc.property(historyOf(text), (history) => {
        const tree = new PrefixTree(() => 0);
        agree(history, {
          tree,
          insert: (input, tenant) => tree.insert(Buffer.from(input), tenant),
          match: (input) => {
            const found = tree.match(Buffer.from(input), 99);
            return { ...found, matched: found.matchedCharacters, total: found.totalCharacters };
          },
          pathOf: (input) => Array.from(input),
          unitLength: 1,
        });
      }),
      { numRuns: 100 },
    );
  });

  it('a token tree agrees as well, whatever its page and the type of its input', () => {
    fc.assert(
      fc.property(
        historyOf(tokens),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        (history, page, isTyped) => {
          const tree = new TokenTree(() => 0, page);
          const typed = (input: number[]) => (isTyped ? Uint32Array.from(input) : input);
          agree(history, {
            tree,
            insert: (input, tenant) => tree.insert(typed(input), tenant),
            match: (input) => {
              const found = tree.match(typed(input), 99);
              return { ...found, matched: found.matchedTokens, total: found.totalTokens };
            },
            pathOf: (input) =>
              Array.from({ length: Math.floor(input.length / page) }, (_, i) =>
                input.slice(i * page, (i + 1) * page).join(),
              ),
            unitLength: page,
          });
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('adversarial streams', () => {
  const LIMITS = { maxCharacters: 20_000 };

  /** What an owner does between its timed evictions. */
  function feed(tree: PrefixTree | TokenTree, insertNext: (turn: number) => void, turns: number) {
    let fullest = 0;
    let mostHoldings = 0;
    for (let turn = 0; turn < turns; turn++) {
      insertNext(turn);
      tree.relieve(LIMITS);
      fullest = Math.max(fullest, tree.fullness(LIMITS));
      mostHoldings = Math.max(mostHoldings, tree.holdingCount);
    }
    return { fullest, mostHoldings };
  }

  const letters = (turn: number) =>
    String.fromCodePoint(0x4e00 + (turn % 20_000), 0x1f300 + Math.floor(turn / 20_000));

  it('unique one- and two-character prompts stay under the number of holdings', () => {
    const tree = new PrefixTree(() => 0);
    const { fullest, mostHoldings } = feed(
      tree,
      (turn) => tree.insert(Buffer.from(letters(turn)), `w${turn % 3}`),
      30_000,
    );
    expect(fullest).toBeLessThan(1.3);
    expect(mostHoldings).toBeLessThan(4_096 * 1.3);
  });

  it('unique prompts of one page do as well', () => {
    const tree = new TokenTree(() => 0, 1);
    const { mostHoldings } = feed(tree, (turn) => tree.insert([turn], 'A'), 30_000);
    expect(mostHoldings).toBeLessThan(4_096 * 1.3);
    expect(tree.match([29_999]).matchedTokens).toBe(1);
    expect(tree.match([0]).matchedTokens).toBe(0);
  });

  it('long prompts that differ in the last character stay under the size', () => {
    const tree = new PrefixTree(() => 0);
    const { fullest } = feed(
      tree,
      (turn) => tree.insert(Buffer.from('x'.repeat(500) + letters(turn)), `w${turn % 64}`),
      5_000,
    );
    // 64 tenants share 500 characters: more than the limit, and a leaf only when its texts are gone.
    expect(fullest).toBeLessThan(2);
  });

  it('chains of many workers, full of one-character leaves, then long prompts', () => {
    const tree = new PrefixTree(() => 0);
    const prompt = Buffer.alloc(600, 'x');
    const chains = feed(
      tree,
      (turn) => {
        prompt.writeUInt16BE(0x6161 + Math.floor(turn / 600), 0);
        tree.insert(prompt.subarray(0, (turn % 600) + 1), `w${turn % 64}`);
      },
      6_000,
    );
    expect(chains.fullest).toBeLessThan(1.4);
    const { fullest } = feed(
      tree,
      (turn) => tree.insert(Buffer.from(letters(turn) + 'y'.repeat(400)), 'A'),
      200,
    );
    expect(fullest).toBeLessThan(2);
  });

  it('a chain of prompts, each a character longer, is followed and kept to a bounded depth', () => {
    const tree = new PrefixTree(() => 0);
    const prompt = Buffer.from('x'.repeat(3_000));
    for (let n = 1; n <= 3_000; n++) tree.insert(prompt.subarray(0, n), 'A');
    expect(tree.holdingCount).toBe(512);
    expect(tree.match(prompt)).toEqual({
      matchedCharacters: 512,
      totalCharacters: 3_000,
      tenants: ['A'],
    });
    while (!tree.evict({ maxCharacters: 0 }));
    expect(tree.holdingCount).toBe(0);
  });

  it('a prompt cut below the bounded depth is evicted although no call reaches it', () => {
    const tree = new PrefixTree(() => 0);
    const prompt = Buffer.from('x'.repeat(1_500));
    // From the end, so that each cut pushes what lies below one deeper.
    for (let n = 1_500; n > 0; n--) tree.insert(prompt.subarray(0, n), 'A');
    expect(tree.holdingCount).toBeGreaterThan(512);
    expect(tree.match(prompt).matchedCharacters).toBe(512);
    while (!tree.evict({ maxCharacters: 0 }));
    expect(tree.size).toBe(0);
    expect(tree.holdingCount).toBe(0);
  });

  it('a worker that comes and goes leaves nothing behind', () => {
    const tree = new PrefixTree(() => 0);
    for (let turn = 0; turn < 500; turn++) {
      tree.insert(Buffer.from(`shared prompt ${turn % 7}`), 'A');
      tree.insert(Buffer.from(`shared prompt ${turn % 7}`), 'B');
      tree.removeTenant('A');
      tree.evict({ maxCharacters: 1_000 });
    }
    expect(tree.match(Buffer.from('shared prompt 3')).tenants).toEqual(['B']);
    while (!tree.evict({ maxCharacters: 0 }));
    expect(tree.holdingCount).toBe(0);
  });

  it('a prefix of many workers follows who lost it and who got it again', () => {
    const tree = new PrefixTree(() => 0);
    const prompt = Buffer.from('shared');
    for (const name of TENANTS) tree.insert(prompt, name);
    const all = TENANTS.length * prompt.length;
    tree.evict({ maxCharacters: all - 1 });
    expect(tree.match(prompt, 99).tenants).not.toContain('A');
    tree.insert(prompt, 'A');
    expect(tree.size).toBe(all);
    expect([...tree.match(prompt, 99).tenants].sort()).toEqual(TENANTS);
  });

  it('tens of thousands of siblings are found, each under its key, and all go', () => {
    const tree = new TokenTree(() => 0, 2);
    const count = 70_000;
    for (let i = 0; i < count; i++) tree.insert([i, i], 'A');
    for (let i = 0; i < count; i += 997) {
      expect(tree.match([i, i]).matchedTokens).toBe(2);
      expect(tree.match([i, i + 1]).matchedTokens).toBe(0);
    }
    while (!tree.evict({ maxCharacters: 20, slice: 10_000 }));
    expect(tree.match([count - 1, count - 1]).matchedTokens).toBe(2);
    expect(tree.holdingCount).toBe(10);
  });
});
