import { Engine, type EngineSpec } from './engine';
import { EventQueue } from './event-queue';
import { type Segment } from './prompt';

const SPEC: EngineSpec = {
  prefillRate: 1_000,
  prefillOverhead: 10,
  decodeBase: 10,
  decodePerRequest: 0,
  maxRunning: 2,
  kvCapacity: 10_000,
  decodes: true,
};

interface Seen {
  cached: number;
  firstToken: number;
  done: number;
}

function setUp(spec: Partial<EngineSpec> = {}) {
  const queue = new EventQueue();
  const engine = new Engine({ ...SPEC, ...spec }, queue);
  let answers = 1_000;
  const submit = (prompt: readonly Segment[], answerTokens = 5): Seen => {
    const seen = { cached: -1, firstToken: -1, done: -1 };
    engine.submit({
      prompt,
      answer: { id: answers++, tokens: answerTokens },
      onStart: (cached) => (seen.cached = cached),
      onFirstToken: () => (seen.firstToken = queue.now),
      onDone: () => (seen.done = queue.now),
    });
    return seen;
  };
  const run = (): void => {
    while (queue.step());
  };
  return { engine, queue, submit, run };
}

describe('Engine', () => {
  it('prefills one after the other, what is cached for nothing, and decodes beside it', () => {
    const { submit, run } = setUp();
    const shared = { id: 1, tokens: 90 };
    const first = submit([shared, { id: 2, tokens: 10 }]);
    const second = submit([shared, { id: 3, tokens: 10 }]);
    run();
    expect(first).toEqual({ cached: 0, firstToken: 110, done: 160 });
    expect(second).toEqual({ cached: 90, firstToken: 130, done: 180 });
  });

  it('finds its own answer in the next turn of a conversation', () => {
    const { submit, run } = setUp();
    submit([{ id: 1, tokens: 100 }], 40);
    run();
    const next = submit([
      { id: 1, tokens: 100 },
      { id: 1_000, tokens: 40 },
      { id: 2, tokens: 10 },
    ]);
    run();
    expect(next.cached).toBe(140);
  });

  it('runs no more at a time than it may', () => {
    const { submit, run } = setUp({ maxRunning: 1 });
    const first = submit([{ id: 1, tokens: 10 }], 100);
    const second = submit([{ id: 2, tokens: 10 }]);
    run();
    expect(second.firstToken).toBe(first.done + 20);
  });

  it('waits for room in the KV cache', () => {
    const { submit, run } = setUp({ kvCapacity: 150 });
    const first = submit([{ id: 1, tokens: 100 }], 20);
    const second = submit([{ id: 2, tokens: 100 }], 20);
    run();
    expect(second.firstToken).toBe(first.done + 110);
  });

  it('decodes the slower the more run', () => {
    const { submit, run } = setUp({ decodePerRequest: 10 });
    const alone = submit([{ id: 1, tokens: 10 }], 10);
    run();
    expect(alone.done - alone.firstToken).toBe(200);
  });

  it('is done with the first token where another engine decodes', () => {
    const { submit, run } = setUp({ decodes: false });
    const seen = submit([{ id: 1, tokens: 10 }], 500);
    run();
    expect(seen.done).toBe(seen.firstToken);
  });

  it('reports what waits, and computes again after a flush', () => {
    const { engine, submit, run } = setUp();
    submit([{ id: 1, tokens: 100 }]);
    submit([{ id: 2, tokens: 100 }]);
    submit([{ id: 1, tokens: 100 }]);
    expect(engine.report()).toMatchObject({
      sequence: 1,
      runningRequests: 1,
      waitingRequests: 2,
      waitingUncachedTokens: 100,
    });
    run();
    engine.flush();
    const again = submit([{ id: 1, tokens: 100 }]);
    run();
    expect(again.cached).toBe(0);
    expect(engine.report()).toMatchObject({ sequence: 2, waitingRequests: 0, tokenUsage: 0 });
  });
});
