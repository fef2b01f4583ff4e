import fc from 'fast-check';
import { type Caller, GateHarness, table } from '../../test/gate-harness';
import { type ClassTable, type PriorityRank, reservedSlots } from './priority-class';

const [SYSTEM, INTERACTIVE, DEFAULT, BULK] = [0, 1, 2, 3] as const;

describe('EntryGate, plainly', () => {
  it('lets in as many as there are permits, the rest in order of arrival', () => {
    const bench = new GateHarness({ permits: 2, queueSize: 2 });
    const [a, b, c, d, e] = [bench.come(), bench.come(), bench.come(), bench.come(), bench.come()];
    expect([a, b, c, d, e].map(({ told }) => told[0])).toEqual([
      'admitted',
      'admitted',
      undefined,
      undefined,
      'admission_queue_full',
    ]);
    b.leave();
    a.leave();
    expect(bench.diary).toEqual(['0:admitted', '1:admitted', '2:admitted', '3:admitted']);
  });

  it('a second leave does nothing', () => {
    const bench = new GateHarness({ permits: 1 });
    const first = bench.come();
    bench.come();
    bench.come();
    first.leave();
    first.leave();
    expect(bench.inside).toHaveLength(1);
    expect(bench.gate.slots.inFlight).toBe(1);
  });

  it('a wait ends after its time, and one who left before is not told', () => {
    const bench = new GateHarness({ permits: 1, timeoutMs: 1000 });
    bench.come();
    const gone = bench.come();
    const late = bench.come();
    bench.clock.advance(999);
    expect(gone.leave()).toBeUndefined();
    bench.clock.advance(1);
    expect(gone.told).toEqual([]);
    expect(late.told).toEqual(['admission_queue_timeout']);
    expect(late.leave()).toBeUndefined();
    expect(bench.clock.pending).toBe(0);
  });

  it('permits come back with time: a full bucket at first, no more than that later', () => {
    const bench = new GateHarness({ permits: 2, refillPerSecond: 4 });
    bench.clock.advance(60_000);
    for (let i = 0; i < 5; i += 1) bench.come();
    expect(bench.inside).toHaveLength(2);
    bench.clock.advance(249);
    expect(bench.inside).toHaveLength(2);
    bench.clock.advance(1);
    expect(bench.inside).toHaveLength(3);
    bench.clock.advance(500);
    expect(bench.inside).toHaveLength(5);
    expect(bench.waiting).toHaveLength(0);
    // What was refilled is not given back a second time.
    for (const caller of bench.inside) caller.leave();
    for (let i = 0; i < 5; i += 1) bench.come();
    expect(bench.inside).toHaveLength(2);
  });

  it('a chain of requests that end as they come in needs no depth', () => {
    const bench = new GateHarness({ permits: 1, queueSize: 50_000 });
    const first = bench.come();
    for (let i = 0; i < 50_000; i += 1) {
      const caller = bench.come();
      caller.reaction = () => {
        caller.leave();
      };
    }
    first.leave();
    expect(bench.gate.slots.inFlight).toBe(0);
    expect(bench.waiting).toHaveLength(0);
  });

  it('closing refuses whoever waits, and whoever would have to', () => {
    const bench = new GateHarness({ permits: 1 });
    const inside = bench.come();
    const waiting = bench.come();
    bench.gate.close();
    expect(waiting.told).toEqual(['service_unavailable']);
    expect(bench.come().told).toEqual(['service_unavailable']);
    inside.leave();
    expect(bench.come().told).toEqual(['admitted']);
    expect(bench.clock.pending).toBe(0);
  });
});

describe('EntryGate, by class', () => {
  const gate = (classes: ClassTable, capacity: number): GateHarness =>
    new GateHarness({ classes, capacity });

  it('the higher class comes in first, whoever waited longer', () => {
    const bench = gate(table(), 1);
    const first = bench.come();
    for (const rank of [BULK, DEFAULT, INTERACTIVE, SYSTEM] as const) bench.come(rank);
    first.leave();
    for (let i = 4; i > 1; i -= 1) bench.inside[0]?.leave();
    expect(bench.diary).toEqual(['0', '4', '3', '2', '1'].map((order) => `${order}:admitted`));
  });

  it('what is reserved is kept for its class, a share of the capacity included', () => {
    const bench = gate(table({ 1: { reservedFloor: 2, reservedPerSlot: 0.29 } }), 100);
    for (let i = 0; i < 100; i += 1) bench.come(BULK);
    expect(bench.inside).toHaveLength(69);
    for (let i = 0; i < 40; i += 1) bench.come(INTERACTIVE);
    expect(bench.gate.slots.inFlightOf(INTERACTIVE)).toBe(31);
  });

  it('a full queue refuses with the code of the scheduler, and its class alone', () => {
    const bench = gate(table({ 3: { queueSize: 0 } }), 1);
    bench.come();
    expect(bench.come(BULK).told).toEqual(['scheduler_queue_full']);
    expect(bench.come(DEFAULT).told).toEqual([]);
    expect(bench.count('bulk full')).toBe(1);
  });

  it('each class waits for its own time', () => {
    const bench = gate(table({ 1: { queueTimeoutSecs: 1 }, 3: { queueTimeoutSecs: 3 } }), 1);
    bench.come();
    const bulk = bench.come(BULK);
    const interactive = bench.come(INTERACTIVE);
    bench.clock.advance(1000);
    expect(interactive.told).toEqual(['scheduler_queue_timeout']);
    expect(bulk.isWaiting).toBe(true);
    bench.clock.advance(2000);
    expect(bulk.told).toEqual(['scheduler_queue_timeout']);
  });

  it('who leaves the queue is counted, and the code says so', () => {
    const bench = gate(table(), 1);
    bench.come();
    expect(bench.come(BULK).leave()).toBe('scheduler_client_cancelled');
    expect(bench.count('bulk cancelled')).toBe(1);
  });

  describe('preemption', () => {
    const eager = { canPreempt: true, queueSize: 0 };

    it('takes the place of the last one of the lowest class', () => {
      const bench = gate(table({ 0: eager }), 3);
      const [older, younger] = [bench.come(BULK), bench.come(BULK)];
      bench.come(DEFAULT);
      expect(bench.come(SYSTEM).told).toEqual(['admitted']);
      expect(younger.told).toEqual(['admitted', 'scheduler_preempted']);
      expect(older.isIn).toBe(true);
      expect(bench.count('bulk preempted by system')).toBe(1);
      younger.leave();
      expect(bench.gate.slots.inFlight).toBe(3);
    });

    it('spares who has sent a byte, the same class, and higher ones', () => {
      const bench = gate(table({ 1: eager }), 3);
      bench.come(BULK).hasAnswered = true;
      bench.come(INTERACTIVE);
      bench.come(SYSTEM);
      expect(bench.come(INTERACTIVE).told).toEqual(['scheduler_queue_full']);
    });

    it('spares what is reserved for a class', () => {
      const bench = gate(table({ 0: eager, 3: { reservedFloor: 1 } }), 2);
      bench.come(BULK);
      bench.come(BULK);
      expect(bench.come(SYSTEM).told).toEqual(['admitted']);
      expect(bench.come(SYSTEM).told).toEqual(['scheduler_queue_full']);
      expect(bench.gate.slots.inFlightOf(BULK)).toBe(1);
    });

    it('is not for a class that may not', () => {
      const bench = gate(table({ 1: { queueSize: 0 } }), 1);
      bench.come(BULK);
      expect(bench.come(INTERACTIVE).told).toEqual(['scheduler_queue_full']);
    });

    it('the place is taken before the one who had it can act', () => {
      const bench = gate(table({ 0: eager }), 1);
      const victim = bench.come(BULK);
      victim.reaction = () => {
        victim.leave();
      };
      const next = bench.come(BULK);
      expect(bench.come(SYSTEM).told).toEqual(['admitted']);
      expect(next.isWaiting).toBe(true);
      expect(bench.gate.slots.inFlight).toBe(1);
    });
  });

  describe('starvation', () => {
    it('who has waited for too long comes in past unused reservations', () => {
      const bench = gate(table({ 1: { reservedFloor: 1 }, 3: { starvationThresholdSecs: 1 } }), 1);
      const bulk = bench.come(BULK);
      bench.clock.advance(999);
      expect(bulk.isWaiting).toBe(true);
      bench.clock.advance(1);
      expect(bulk.isIn).toBe(true);
      expect(bench.count('bulk promoted')).toBe(1);
    });

    it('and is not stopped again', () => {
      const bench = gate(
        table({
          1: { reservedFloor: 1, canPreempt: true, queueSize: 0 },
          3: { starvationThresholdSecs: 1 },
        }),
        1,
      );
      bench.come(BULK);
      bench.clock.advance(1000);
      expect(bench.come(INTERACTIVE).told).toEqual(['scheduler_queue_full']);
    });

    it('gets one of four places while higher classes never stop coming', () => {
      const bench = gate(table({ 1: { queueSize: 100 }, 3: { starvationThresholdSecs: 1 } }), 1);
      bench.come(INTERACTIVE);
      for (let i = 0; i < 4; i += 1) bench.come(BULK);
      for (let i = 0; i < 40; i += 1) bench.come(INTERACTIVE);
      bench.clock.advance(1000);
      const seen: PriorityRank[] = [];
      for (let i = 0; i < 12; i += 1) {
        bench.inside[0]?.leave();
        seen.push(bench.inside[0]?.rank ?? 0);
      }
      expect(seen.filter((rank) => rank === BULK)).toHaveLength(3);
    });
  });

  describe('reservations beyond the capacity', () => {
    const demanding = table({ 1: { reservedFloor: 160 } });

    it('are not kept: classes do not matter then', () => {
      const bench = new GateHarness({ classes: demanding, capacity: 8, permits: 1 });
      bench.come(BULK);
      const waiting = bench.come(BULK);
      expect(bench.come(SYSTEM).isWaiting).toBe(true);
      bench.inside[0]?.leave();
      expect(waiting.isIn).toBe(true);
    });

    it('are kept again once there is room, and who waits stays in order', () => {
      const bench = new GateHarness({ classes: demanding, capacity: 8, permits: 1 });
      const first = bench.come(BULK);
      const [bulk, system] = [bench.come(BULK), bench.come(SYSTEM)];
      expect(bench.gate.settle(demanding, 161)).toEqual({ isScheduled: true, reserved: 160 });
      // One slot is for everybody, and it is taken.
      expect(bulk.isWaiting && system.isWaiting).toBe(true);
      first.leave();
      expect(system.isIn).toBe(true);
      expect(bench.gate.settle(demanding, 8)).toEqual({ isScheduled: false, reserved: 160 });
      system.leave();
      expect(bulk.isIn).toBe(true);
      expect(bench.gate.slots.inFlight).toBe(1);
    });

    it('a capacity that grows lets in who waits, one that shrinks stops nobody', () => {
      const bench = new GateHarness({ classes: table(), capacity: 2 });
      for (let i = 0; i < 5; i += 1) bench.come();
      bench.gate.settle(table(), 4);
      expect(bench.inside).toHaveLength(4);
      bench.gate.settle(table(), 1);
      expect(bench.inside).toHaveLength(4);
      bench.inside[0]?.leave();
      expect(bench.waiting).toHaveLength(1);
    });
  });
});

/** What can happen to a gate. */
type Step =
  | { readonly kind: 'come'; readonly rank: PriorityRank; readonly leavesAtOnce: boolean }
  | { readonly kind: 'leave' | 'answer'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'capacity'; readonly slots: number };

const rank = fc.constantFrom<PriorityRank>(0, 1, 2, 3);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('come' as const),
      rank,
      leavesAtOnce: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('answer' as const), which: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(3000) }) },
);
const resizing: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: step },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('capacity' as const), slots: fc.nat(12) }),
  },
);
const classes: fc.Arbitrary<ClassTable> = fc
  .array(
    fc.record({
      reservedFloor: fc.nat(3),
      reservedPerSlot: fc.constantFrom(0, 0.1, 0.25),
      queueSize: fc.nat(4),
      queueTimeoutSecs: fc.integer({ min: 1, max: 6 }),
      starvationThresholdSecs: fc.integer({ min: 0, max: 4 }),
      canPreempt: fc.boolean(),
    }),
    { minLength: 4, maxLength: 4 },
  )
  .map((rows) => table(Object.fromEntries(rows.entries())));

function act(bench: GateHarness, classTable: ClassTable | undefined, done: Step): void {
  const pick = (from: readonly Caller[], which: number): Caller | undefined =>
    from[which % Math.max(from.length, 1)];
  switch (done.kind) {
    case 'come': {
      const caller = bench.come(done.rank);
      if (done.leavesAtOnce) {
        caller.reaction = () => {
          if (caller.told.at(-1) === 'admitted') caller.leave();
        };
      }
      return;
    }
    case 'leave':
      // Of everybody, those included who are out already.
      pick(bench.callers, done.which)?.leave();
      return;
    case 'answer': {
      const caller = pick(bench.inside, done.which);
      if (caller !== undefined) caller.hasAnswered = true;
      return;
    }
    case 'wait':
      bench.clock.advance(done.ms);
      return;
    case 'capacity':
      bench.gate.settle(classTable, done.slots);
      return;
  }
}

/** What holds after every step, whatever happened before. */
function check(bench: GateHarness): void {
  const { slots } = bench.gate;
  // No permit lost, none doubled.
  expect(slots.inFlight).toBe(bench.inside.length);
  for (const cls of [0, 1, 2, 3] as const) {
    expect(slots.inFlightOf(cls)).toBe(bench.inside.filter((caller) => caller.rank === cls).length);
  }
  // Nobody is told a thing twice, and nobody hears after having left.
  for (const { told } of bench.callers) {
    expect(told.length).toBeLessThanOrEqual(2);
    if (told.length === 2) expect(told).toEqual(['admitted', 'scheduler_preempted']);
  }
  // Who has sent a byte is never stopped.
  for (const { hasAnswered, told } of bench.callers) {
    if (hasAnswered) expect(told).toEqual(['admitted']);
  }
}

describe('EntryGate, in any interleaving', () => {
  it('plainly: never more than the permits, never idle, first come first served', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.nat(4),
        fc.array(step, { maxLength: 60 }),
        (permits, queueSize, steps) => {
          const bench = new GateHarness({ permits, queueSize, timeoutMs: 4000 });
          for (const done of steps) {
            act(bench, undefined, done);
            check(bench);
            expect(bench.inside.length).toBeLessThanOrEqual(permits);
            expect(bench.waiting.length).toBeLessThanOrEqual(queueSize);
            if (bench.waiting.length > 0) expect(bench.inside).toHaveLength(permits);
          }
          const admitted = bench.diary.filter((line) => line.endsWith(':admitted'));
          const orders = admitted.map((line) => Number.parseInt(line, 10));
          expect(orders).toEqual([...orders].sort((a, b) => a - b));
          drain(bench);
        },
      ),
    );
  });

  it('with a rate: no more in any span than the permits and what the span refills', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(step, { maxLength: 60 }),
        (permits, refillPerSecond, steps) => {
          const bench = new GateHarness({ permits, refillPerSecond, queueSize: 4 });
          for (const done of steps) {
            act(bench, undefined, done);
            check(bench);
            const refilled = Math.floor((bench.clock.now() * refillPerSecond) / 1000);
            expect(bench.inside.length).toBeLessThanOrEqual(permits + refilled);
          }
        },
      ),
    );
  });

  it('by class: reservations, order, preemption and the starvation bound hold', () => {
    fc.assert(
      fc.property(
        classes,
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { maxLength: 80 }),
        (classTable, capacity, steps) => {
          const reserved = ([0, 1, 2, 3] as const).map((cls) =>
            reservedSlots(classTable[cls], capacity),
          );
          fc.pre(reserved.reduce((sum, slots) => sum + slots, 0) <= capacity);
          const bench = new GateHarness({ classes: classTable, capacity });
          for (const done of steps) {
            act(bench, classTable, done);
            check(bench);
            expect(bench.inside.length).toBeLessThanOrEqual(capacity);
            checkQueues(bench, classTable, capacity);
          }
          checkOrderInClasses(bench);
          drain(bench);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('by class, while the capacity changes: no permit is lost or doubled', () => {
    fc.assert(
      fc.property(
        classes,
        fc.integer({ min: 1, max: 3 }),
        fc.array(resizing, { maxLength: 80 }),
        (classTable, permits, steps) => {
          const bench = new GateHarness({ classes: classTable, capacity: 6, permits });
          for (const done of steps) {
            act(bench, classTable, done);
            check(bench);
          }
          drain(bench);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Nobody waits who could be in. */
function checkQueues(bench: GateHarness, classTable: ClassTable, capacity: number): void {
  const { slots } = bench.gate;
  const now = bench.clock.now();
  for (const { rank: cls, since } of bench.waiting) {
    const { starvationThresholdSecs, queueTimeoutSecs, canPreempt } = classTable[cls];
    expect(slots.isFreeFor(cls)).toBe(false);
    expect(now - since).toBeLessThan(queueTimeoutSecs * 1000);
    if (now - since >= starvationThresholdSecs * 1000) expect(bench.inside).toHaveLength(capacity);
    if (!canPreempt) continue;
    for (const victim of bench.inside) {
      if (victim.rank <= cls || victim.hasAnswered) continue;
      // Reserved, or promoted: else it would have been stopped.
      const isReserved = !slots.isBeyondReservation(victim.rank);
      const promotions = ['system', 'interactive', 'default', 'bulk'].map((name) =>
        bench.count(`${name} promoted`),
      );
      expect(isReserved || (promotions[victim.rank] ?? 0) > 0).toBe(true);
    }
  }
}

/** Within a class nobody overtakes. */
function checkOrderInClasses(bench: GateHarness): void {
  for (const cls of [0, 1, 2, 3] as const) {
    const orders = bench.diary
      .filter((line) => line.endsWith(':admitted'))
      .map((line) => Number.parseInt(line, 10))
      .filter((order) => bench.callers[order]?.rank === cls);
    expect(orders).toEqual([...orders].sort((a, b) => a - b));
  }
}

/** Everybody leaves: nothing is left, neither a permit nor a place nor a timer. */
function drain(bench: GateHarness): void {
  while (bench.inside.length + bench.waiting.length > 0) {
    for (const caller of [...bench.inside, ...bench.waiting]) caller.leave();
  }
  expect(bench.gate.slots.inFlight).toBe(0);
  bench.clock.advance(600_000);
  expect(bench.clock.pending).toBe(0);
}
