import 'reflect-metadata';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { chartsOf, DRAWN } from './charts';
import { bareBytes, measure } from './measure';
import { type Options, parseOptions, USAGE } from './options';
import { csvOf, placeBetweenMarks, tablesOf } from './report';
import { type Result, type SweepPoint } from './result';
import { simulate } from './simulation';
import { makeTrace } from './trace';

async function runAll({ scenarios, variants, seed, smoke }: Options): Promise<Result[]> {
  const results: Result[] = [];
  for (const scenario of scenarios) {
    const { workers, seconds, rate } = scenario;
    const flows = makeTrace({ seed, workers, seconds, rate });
    const bare = await bareBytes(scenario);
    for (const variant of variants) {
      console.error(`${scenario.name}: ${variant.name}`);
      const result = await measure({ scenario, variant, flows, seed, bare });
      results.push(result);
      if (!smoke) continue;
      const again = await simulate(scenario, variant, flows, seed);
      for (const fleet of again.fleet) await fleet.stop();
      assertAlike(result, again.outcome);
    }
  }
  return results;
}

/** The drawn variants under more and more requests; what decisions cost is not asked. */
async function runSweep({ sweep, variants, seed }: Options): Promise<SweepPoint[]> {
  const points: SweepPoint[] = [];
  for (const scenario of sweep) {
    const { workers, seconds, rate } = scenario;
    const flows = makeTrace({ seed, workers, seconds, rate });
    for (const variant of variants.filter(({ name }) => DRAWN.includes(name))) {
      console.error(`${rate}/s and worker: ${variant.name}`);
      const { fleet, outcome } = await simulate(scenario, variant, flows, seed);
      for (const each of fleet) await each.stop();
      points.push({ rate, policy: variant.name, outcome });
    }
  }
  return points;
}

/** @throws Error when two runs differ, or nobody was served. */
function assertAlike({ scenario, variant, outcome }: Result, again: Result['outcome']): void {
  const name = `${scenario.name}: ${variant.name}`;
  if (!(outcome.requests > 0) || outcome.refused > 0) {
    throw new Error(`${name}: ${outcome.requests} requests served, ${outcome.refused} refused`);
  }
  if (JSON.stringify(outcome) === JSON.stringify(again)) return;
  throw new Error(`${name}: two runs with the same seed differ`);
}

function write(options: Options, results: readonly Result[], sweep: readonly SweepPoint[]): void {
  const { out, markdown } = options;
  if (out !== undefined) {
    mkdirSync(out, { recursive: true });
    for (const [name, svg] of chartsOf(results, sweep)) writeFileSync(join(out, name), svg);
    writeFileSync(join(out, 'results.csv'), csvOf(results));
    writeFileSync(join(out, 'results.json'), `${JSON.stringify({ results, sweep })}\n`);
  }
  if (markdown === undefined) return;
  const page = readFileSync(markdown, 'utf8');
  writeFileSync(markdown, placeBetweenMarks(page, tablesOf(results)));
}

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) {
    console.log(USAGE);
    return;
  }
  Logger.overrideLogger(false);
  const results = await runAll(options);
  console.log(tablesOf(results));
  const sweep = await runSweep(options);
  write(options, results, sweep);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
