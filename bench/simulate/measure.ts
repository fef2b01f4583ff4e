import { cpuPerDecision } from './decision-cost';
import { Fleet } from './fleet';
import { type Result } from './result';
import { type Scenario } from './scenario';
import { SimContext } from './sim-context';
import { simulate } from './simulation';
import { heldBytes } from './state-memory';
import { quantile } from './statistics';
import { type Flow } from './trace';
import { VARIANTS, type Variant } from './variants';

export interface Plan {
  readonly scenario: Scenario;
  readonly variant: Variant;
  readonly flows: readonly Flow[];
  readonly seed: number;
  /** What {@link bareBytes} said of the scenario. */
  readonly bare: number;
}

/** Runs one variant over one fleet and measures what its decisions cost. */
export async function measure({ scenario, variant, flows, seed, bare }: Plan): Promise<Result> {
  const { fleet, decisions, recorded, inFlight, outcome } = await simulate(
    scenario,
    variant,
    flows,
    seed,
  );
  const cost = { p50: quantile(decisions, 0.5), p99: quantile(decisions, 0.99) };
  const held = await releasedBy(fleet);
  const cpu = await cpuPerDecision(scenario, variant, recorded, inFlight);
  const stateBytes = Math.max(0, held - bare);
  return { scenario, variant, outcome, cost: { ...cost, cpu, stateBytes } };
}

/** Bytes that a stopped fleet gives back. @param box holds the only reference to it; emptied. */
async function releasedBy(box: Fleet[]): Promise<number> {
  const before = await heldBytes();
  await box.pop()?.stop();
  return before - (await heldBytes());
}

/** Bytes of a fleet whose policy remembers nothing, each worker chosen once. */
export async function bareBytes({ workers, leg }: Scenario): Promise<number> {
  const variant = VARIANTS.find(({ policy }) => policy === 'round_robin')!;
  const box = [await Fleet.start({ variant, count: workers, leg, seed: 1 })];
  chooseEach(box[0]!, leg);
  return releasedBy(box);
}

/** As many selections as there are workers. */
function chooseEach(fleet: Fleet, leg: Scenario['leg']): void {
  const context = new SimContext([], undefined, leg, { hasTokens: false });
  const pool = fleet.pool(leg);
  fleet.workers.forEach(() => fleet.selector.select(pool, context));
}
