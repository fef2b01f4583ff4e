import { type EntryPass, type EntryRefusal } from '@smg/plugin-api';
import { FakeClock } from '@smg/testing';
import { EntryGate } from '../src/core/entry-gate';
import { EntryLine, type LineMeter } from '../src/core/entry-line';
import { classAnswers, PLAIN_ANSWERS } from '../src/core/line-answers';
import {
  type ClassSettings,
  type ClassTable,
  PRIORITY_CLASSES,
  type PriorityRank,
} from '../src/core/priority-class';

/** One request, and everything it was told. */
export class Caller {
  hasAnswered = false;
  pass!: EntryPass;
  readonly told: ('admitted' | EntryRefusal['code'])[] = [];
  /** Run when it is admitted after a wait, or refused. */
  reaction: () => void = () => undefined;
  isGone = false;

  constructor(
    readonly rank: PriorityRank,
    readonly order: number,
    readonly since: number,
    private readonly note: (caller: Caller, what: string) => void,
  ) {}

  onAdmitted(): void {
    this.told.push('admitted');
    this.note(this, 'admitted');
    this.reaction();
  }

  onRefused({ code }: EntryRefusal): void {
    this.told.push(code);
    this.note(this, code);
    this.reaction();
  }

  /** Holds a permit, as far as it was told. */
  get isIn(): boolean {
    return !this.isGone && this.told.at(-1) === 'admitted';
  }

  get isWaiting(): boolean {
    return !this.isGone && this.told.length === 0;
  }

  leave(): ReturnType<EntryPass['leave']> {
    this.isGone = true;
    return this.pass.leave();
  }
}

export interface HarnessOptions {
  readonly permits?: number;
  readonly refillPerSecond?: number;
  readonly queueSize?: number;
  readonly timeoutMs?: number;
  readonly classes?: ClassTable;
  readonly capacity?: number;
}

/** A gate on a clock of its own, and a diary. */
export class GateHarness {
  readonly clock = new FakeClock();
  readonly callers: Caller[] = [];
  /** `order:what`, in the order it happened; `promoted` and `preempted` by class name. */
  readonly diary: string[] = [];
  readonly counts = new Map<string, number>();
  readonly gate: EntryGate;
  readonly promoted: Caller[] = [];
  private timer: number | undefined;

  constructor(given: HarnessOptions = {}) {
    const { permits = Infinity, refillPerSecond = 0, queueSize = 100 } = given;
    const { timeoutMs = 60_000 } = given;
    const limits = { queueSize, timeoutMs, starvationMs: Infinity };
    this.gate = new EntryGate({
      now: this.clock.now,
      alarm: {
        set: (at) => {
          this.clock.clearTimeout(this.timer);
          this.timer = this.clock.setTimeout(() => {
            this.gate.wake();
          }, at - this.clock.now());
        },
        clear: () => {
          this.clock.clearTimeout(this.timer);
        },
      },
      plain: new EntryLine(PLAIN_ANSWERS, this.meter('plain'), limits),
      permits,
      refillPerSecond,
      byRank:
        given.classes === undefined
          ? []
          : PRIORITY_CLASSES.map(
              (name) => new EntryLine(classAnswers(name), this.meter(name), limits),
            ),
    });
    if (given.classes !== undefined) this.gate.settle(given.classes, given.capacity);
  }

  come(rank: PriorityRank = 2): Caller {
    const caller = new Caller(rank, this.callers.length, this.clock.now(), (who, what) => {
      this.diary.push(`${who.order}:${what}`);
    });
    this.callers.push(caller);
    caller.pass = this.gate.enter(rank, caller);
    const { refusal, isWaiting } = caller.pass;
    if (refusal !== undefined) caller.told.push(refusal.code);
    else if (!isWaiting) {
      caller.told.push('admitted');
      this.diary.push(`${caller.order}:admitted`);
    }
    return caller;
  }

  count(what: string): number {
    return this.counts.get(what) ?? 0;
  }

  get inside(): Caller[] {
    return this.callers.filter(({ isIn }) => isIn);
  }

  get waiting(): Caller[] {
    return this.callers.filter(({ isWaiting }) => isWaiting);
  }

  private meter(name: string): LineMeter {
    const add = (what: string): void => {
      const key = `${name} ${what}`;
      this.counts.set(key, this.count(key) + 1);
    };
    return {
      admitted: () => {
        add('admitted');
      },
      refusedFull: () => {
        add('full');
      },
      refusedTimeout: () => {
        add('timeout');
      },
      cancelled: () => {
        add('cancelled');
      },
      preempted: (by) => {
        add(`preempted by ${PRIORITY_CLASSES[by]}`);
      },
      promoted: () => {
        add('promoted');
      },
    };
  }
}

/** A class; nothing reserved, ten may wait for a minute, unless told otherwise. */
export const settings = (given: Partial<ClassSettings> = {}): ClassSettings => ({
  reservedFloor: 0,
  reservedPerSlot: 0,
  queueSize: 10,
  queueTimeoutSecs: 60,
  starvationThresholdSecs: 30,
  canPreempt: false,
  ...given,
});

/** Classes by name; the rest as {@link settings} says. */
export function table(given: Partial<Record<number, Partial<ClassSettings>>> = {}): ClassTable {
  return {
    0: settings(given[0]),
    1: settings(given[1]),
    2: settings(given[2]),
    3: settings(given[3]),
  };
}
