import { textOf, tokenIdsOf, tokensOf } from './prompt';
import { makeTrace, type RequestKind } from './trace';

const OPTIONS = { seed: 3, workers: 16, seconds: 300, rate: 2 };

describe('a trace', () => {
  it('is the same for the same options, another for another seed', () => {
    expect(makeTrace(OPTIONS)).toEqual(makeTrace(OPTIONS));
    expect(makeTrace(OPTIONS)).not.toEqual(makeTrace({ ...OPTIONS, seed: 4 }));
  });

  it('has the rate and the mix of requests it was asked for', () => {
    const counts: Record<RequestKind, number> = { chat: 0, rollout: 0, tail: 0 };
    // Turns of a conversation come some 14 s after one another; the trace ends in the midst of some.
    for (const { kind, turns, start } of makeTrace(OPTIONS)) {
      counts[kind] += turns.filter((_, i) => start + i * 14_000 < OPTIONS.seconds * 1000).length;
    }
    const expected = OPTIONS.rate * OPTIONS.workers * OPTIONS.seconds;
    expect(counts.chat / expected).toBeCloseTo(0.5, 1);
    expect(counts.rollout / expected).toBeCloseTo(0.3, 1);
    expect(counts.tail / expected).toBeCloseTo(0.2, 1);
  });

  it('sends the samples of a rollout group at one instant, with one prompt and one key', () => {
    const rollouts = makeTrace(OPTIONS).filter(({ kind }) => kind === 'rollout');
    const first = rollouts.filter(({ key }) => key === rollouts[0]!.key);
    expect(first).toHaveLength(8);
    for (const { start, turns } of first) {
      expect(start).toBe(first[0]!.start);
      expect(turns[0]!.user).toEqual(first[0]!.turns[0]!.user);
    }
    expect(new Set(first.map(({ turns }) => turns[0]!.answer.id)).size).toBe(8);
  });

  it('has conversations under way at its start, and some system prompts much more often', () => {
    const chats = makeTrace(OPTIONS).filter(({ kind }) => kind === 'chat');
    expect(chats.some(({ beginning }) => beginning.length > 1)).toBe(true);
    const uses = new Map<number, number>();
    for (const { beginning } of chats) {
      const { id } = beginning[0]!;
      uses.set(id, (uses.get(id) ?? 0) + 1);
    }
    const counts = [...uses.values()].sort((a, b) => b - a);
    expect(counts[0]! / counts[Math.floor(counts.length / 2)]!).toBeGreaterThan(5);
  });
});

describe('the text of a prompt', () => {
  const segment = (id: number, tokens = 30) => ({ id, tokens });

  it('is equal as far as segments are, and differs within two tokens after', () => {
    const one = textOf([segment(1), segment(2)]);
    const other = textOf([segment(1), segment(3)]);
    expect(one.length).toBe(4 * tokensOf([segment(1), segment(2)]));
    const equal = one.findIndex((byte, i) => byte !== other[i]);
    expect(equal).toBeGreaterThanOrEqual(4 * 30);
    expect(equal).toBeLessThan(4 * 32);
    expect(textOf([segment(1), segment(2)])).toEqual(one);
  });

  it('has as many token ids as tokens', () => {
    const ids = tokenIdsOf([segment(1), segment(2, 7)]);
    expect(ids).toHaveLength(37);
    expect(ids.slice(0, 30)).toEqual(tokenIdsOf([segment(1)]));
    expect(ids[30]).not.toBe(tokenIdsOf([segment(3)])[0]);
  });
});
