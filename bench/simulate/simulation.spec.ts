import { Logger } from '@nestjs/common';
import { type Outcome } from './measures';
import { ENGINE, type Scenario, scenarioOf } from './scenario';
import { simulate } from './simulation';
import { realNow } from './simulated-time';
import { makeTrace } from './trace';
import { VARIANTS } from './variants';

const SCENARIO: Scenario = scenarioOf({
  workers: 4,
  leg: 'regular',
  rate: 2,
  seconds: 60,
  hasRefit: true,
});

function variantOf(name: string) {
  return VARIANTS.find((variant) => variant.name === name)!;
}

async function run(name: string, scenario = SCENARIO, seed = 1): Promise<Outcome> {
  const { workers, seconds, rate } = scenario;
  const flows = makeTrace({ seed, workers, seconds, rate });
  const { fleet, outcome } = await simulate(scenario, variantOf(name), flows, seed);
  for (const each of fleet) await each.stop();
  return outcome;
}

beforeAll(() => {
  Logger.overrideLogger(false);
});

describe('a simulation', () => {
  it('has the same outcome when it is run again, and another with another seed', async () => {
    const first = await run('cache_aware');
    expect(await run('cache_aware')).toEqual(first);
    expect((await run('cache_aware', SCENARIO, 2)).hitRate).not.toBe(first.hitRate);
  });

  it('finds more in KV caches where a policy looks for it', async () => {
    const aware = await run('cache_aware');
    const blind = await run('random');
    expect(aware.hitRate).toBeGreaterThan(blind.hitRate * 1.5);
    expect(aware.hitRates.tail).toBe(0);
    expect(aware.ttftMean).toBeLessThan(blind.ttftMean);
  });

  it('shows one worker with everything where a policy does not balance', async () => {
    const first = await run('passthrough');
    expect(first.maxOverMean).toBeGreaterThan(3.5);
    expect(first.ttftP99).toBeGreaterThan(10 * (await run('round_robin')).ttftP99);
  });

  it('finds nothing right after all caches were emptied', async () => {
    const refit = { at: 30, groups: 1, pause: 0.001 };
    const scenario = { ...SCENARIO, engine: { ...ENGINE, maxRunning: 512 }, refit };
    const calm = await run('cache_aware', { ...scenario, refit: { ...refit, at: Infinity } });
    const { timeline } = await run('cache_aware', scenario);
    // Steps of five seconds.
    expect(timeline.slice(0, 6)).toEqual(calm.timeline.slice(0, 6));
    expect(timeline[6]!).toBeLessThan(calm.timeline[6]! - 0.2);
  });

  it.each(VARIANTS.map(({ name }) => name))(
    'serves every request with %s, on both legs',
    async (name) => {
      for (const leg of ['regular', 'prefill'] as const) {
        const short = scenarioOf({ workers: 3, leg, rate: 1, seconds: 30, hasRefit: true });
        const outcome = await run(name, short);
        expect(outcome.requests).toBeGreaterThan(20);
        expect(outcome.refused).toBe(0);
      }
    },
  );

  it('gives the process its clock back', async () => {
    await run(
      'round_robin',
      scenarioOf({ workers: 2, leg: 'regular', rate: 1, seconds: 20, hasRefit: false }),
    );
    expect(Reflect.get(performance, 'now')).toBe(realNow);
    await new Promise((resolve) => setImmediate(resolve));
  });
});
