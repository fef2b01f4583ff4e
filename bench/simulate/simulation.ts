import { Engine } from './engine';
import { EventQueue } from './event-queue';
import { Fleet } from './fleet';
import { Measures, type Outcome } from './measures';
import { type Segment } from './prompt';
import { type Scenario } from './scenario';
import { SimContext } from './sim-context';
import { type SimWorker } from './sim-worker';
import { realNow, SimulatedTime } from './simulated-time';
import { type Flow } from './trace';
import { type Variant } from './variants';

/** `--load-monitor-interval` at its default. */
const REPORT_MS = 10_000;
const SAMPLE_MS = 1_000;
/** A client that found nobody asks again. */
const RETRY_MS = 100;
/** Selections remembered for what they would cost again. */
const MAX_RECORDED = 16_384;

/** One request as the gateway got it. */
export interface Recorded {
  readonly prompt: readonly Segment[];
  readonly key: string | undefined;
}

/** What one run gave: the outcome is the same every time, decision times are the machine's. */
export interface Run {
  readonly outcome: Outcome;
  /** Nanoseconds, ascending. */
  readonly decisions: Float64Array;
  /** Requests whose selection may be done again. */
  readonly recorded: readonly Recorded[];
  /** Mean requests in flight of the fleet. */
  readonly inFlight: number;
  /** Still running, with everything the policy learnt; in a box, so that its taker can let it go. */
  readonly fleet: Fleet[];
}

/** Sends a trace through the selector to modelled engines, until the last answer is complete. */
export async function simulate(
  scenario: Scenario,
  variant: Variant,
  flows: readonly Flow[],
  seed: number,
): Promise<Run> {
  const queue = new EventQueue();
  const time = new SimulatedTime(queue);
  time.install();
  try {
    const { workers: count, leg } = scenario;
    const fleet = await Fleet.start({ variant, count, leg, seed });
    const run = new Simulation(scenario, variant, fleet, queue);
    run.play(flows);
    return run.result();
  } finally {
    time.restore();
    // Timers of the policy lead here: its memory is measured without the engines.
    queue.clear();
  }
}

class Simulation {
  private readonly engines: readonly Engine[];
  private readonly measures: Measures;
  private readonly decisions: number[] = [];
  private readonly recorded: Recorded[] = [];
  private readonly endMs: number;
  private openFlows = 0;
  private loadSum = 0;
  private samples = 0;

  constructor(
    private readonly scenario: Scenario,
    private readonly variant: Variant,
    private readonly fleet: Fleet,
    private readonly queue: EventQueue,
  ) {
    this.engines = fleet.workers.map(() => new Engine(scenario.engine, queue));
    this.endMs = scenario.seconds * 1000;
    this.measures = new Measures(scenario.warmUp * 1000, this.endMs);
  }

  play(flows: readonly Flow[]): void {
    this.openFlows = flows.length;
    for (const flow of flows) {
      this.queue.at(flow.start, () => {
        this.send(flow, 0, flow.beginning);
      });
    }
    this.every(SAMPLE_MS, () => {
      this.sample();
    });
    if (this.variant.hasReports) {
      this.every(REPORT_MS, () => {
        for (const worker of this.fleet.workers) worker.report = this.engineOf(worker).report();
      });
    }
    this.planRefit();
    while (this.openFlows > 0 && this.queue.step());
  }

  result(): Run {
    return {
      outcome: this.measures.outcome(),
      decisions: Float64Array.from(this.decisions).sort(),
      recorded: this.recorded,
      inFlight: this.loadSum / this.samples,
      fleet: [this.fleet],
    };
  }

  private send(flow: Flow, turn: number, history: readonly Segment[]): void {
    const { user } = flow.turns[turn]!;
    this.dispatch(flow, turn, [...history, user], this.queue.now);
  }

  private dispatch(flow: Flow, turn: number, prompt: readonly Segment[], arrived: number): void {
    const { queue, measures, variant } = this;
    const key = variant.hasKeys ? flow.key : undefined;
    const worker = this.select(prompt, key);
    if (worker === undefined) {
      measures.refused += 1;
      queue.after(RETRY_MS, () => {
        this.dispatch(flow, turn, prompt, arrived);
      });
      return;
    }
    worker.dispatched(key);
    const { answer } = flow.turns[turn]!;
    this.engineOf(worker).submit({
      prompt,
      answer,
      onStart: (cached, total) => {
        measures.started(flow.kind, arrived, queue.now, [cached, total]);
      },
      onFirstToken: () => {
        measures.firstToken(arrived, queue.now);
      },
      onDone: () => {
        worker.finished(key);
        this.goOn(flow, turn + 1, [...prompt, answer]);
      },
    });
  }

  /** The client's next turn, unless the trace is over. */
  private goOn(flow: Flow, turn: number, history: readonly Segment[]): void {
    const next = flow.turns[turn];
    if (next === undefined || this.queue.now + next.thinkMs >= this.endMs) {
      this.openFlows -= 1;
      return;
    }
    this.queue.after(next.thinkMs, () => {
      this.send(flow, turn, history);
    });
  }

  private select(prompt: readonly Segment[], key: string | undefined): SimWorker | undefined {
    const { leg } = this.scenario;
    const context = new SimContext(prompt, key, leg, this.variant);
    const pool = this.fleet.pool(leg);
    const { selector } = this.fleet;
    const from = realNow();
    const outcome = selector.select(pool, context);
    const took = realNow() - from;
    this.decisions.push(took * 1e6);
    if (this.recorded.length < MAX_RECORDED) this.recorded.push({ prompt, key });
    return this.fleet.chosen(outcome);
  }

  private engineOf(worker: SimWorker): Engine {
    return this.engines[worker.place]!;
  }

  private sample(): void {
    const loads = this.fleet.workers.map(({ load }) => load);
    this.measures.sample(loads, this.queue.now);
    if (this.queue.now > this.endMs) return;
    this.loadSum += loads.reduce((sum, load) => sum + load, 0);
    this.samples += 1;
  }

  private planRefit(): void {
    const { at, groups, pause } = this.scenario.refit;
    if (at === Infinity) return;
    for (let group = 0; group < groups; group += 1) {
      const members = this.fleet.workers.filter(({ place }) => place % groups === group);
      const from = (at + group * pause) * 1000;
      this.queue.at(from, () => {
        for (const worker of members) this.fleet.setAvailable(worker, false);
      });
      this.queue.at(from + pause * 1000, () => {
        for (const worker of members) {
          this.engineOf(worker).flush();
          this.fleet.weightsChanged(worker);
          this.fleet.setAvailable(worker, true);
        }
      });
    }
  }

  private every(ms: number, work: () => void): void {
    const tick = (): void => {
      work();
      this.queue.after(ms, tick);
    };
    this.queue.after(ms, tick);
  }
}
