import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { type Cost, measureCase } from './measure-case';
import { type MicroSuite } from './micro-suite';
import { admissionSuite } from './suites/admission.suite';
import { baselineSuite } from './suites/baseline.suite';
import { filterRlSuite } from './suites/filter-rl.suite';
import { filtersSuite } from './suites/filters.suite';
import { headersSuite } from './suites/headers.suite';
import { kvIndexSuite } from './suites/kv-index.suite';
import { metricsSuite } from './suites/metrics.suite';
import { policiesSuite } from './suites/policies.suite';
import { prefixTreeSuite } from './suites/prefix-tree.suite';
import { protocolSuite } from './suites/protocol.suite';
import { selectorSuite } from './suites/selector.suite';

/** All suites, in the order they run; the baseline comes first. Add a new one here. */
const SUITES: readonly MicroSuite[] = [
  baselineSuite,
  filtersSuite,
  filterRlSuite,
  selectorSuite,
  policiesSuite,
  headersSuite,
  prefixTreeSuite,
  kvIndexSuite,
  metricsSuite,
  protocolSuite,
  admissionSuite,
];

const USAGE = `npm run bench:micro -- [options]
  --only <text>   suites whose name contains the text (all); the baseline always runs
  --smoke         a few cycles of each case: do they work?
  --enforce       exit 1 when a case costs more than it may
`;

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(46) : cell.padStart(16))).join(' | ')} |`;
}

function print(suite: string, cost: Cost, baselineNs: number): void {
  console.log(
    row([
      `${suite}: ${cost.name}`,
      `${cost.medianNs.toFixed(1)} (${cost.minNs.toFixed(1)})`,
      `±${cost.errorPercent.toFixed(1)} %`,
      (cost.minNs / baselineNs).toFixed(2),
      cost.atMostNs === undefined ? '' : `≤ ${cost.atMostNs}`,
    ]),
  );
  if (cost.tail === undefined) return;
  const { p99Ns, atMostNs } = cost.tail;
  console.log(row(['  its p99, each call alone', p99Ns.toFixed(0), '', '', `≤ ${atMostNs}`]));
}

/** Bars that a case does not hold. */
function misses(cost: Cost): number {
  const median = cost.atMostNs !== undefined && cost.medianNs > cost.atMostNs ? 1 : 0;
  const tail = cost.tail !== undefined && cost.tail.p99Ns > cost.tail.atMostNs ? 1 : 0;
  return median + tail;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      smoke: { type: 'boolean' },
      enforce: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  // Parts that report at boot would print into the table.
  Logger.overrideLogger(false);
  const chosen = SUITES.filter(
    (suite) => suite === baselineSuite || suite.name.includes(values.only ?? ''),
  );
  console.log(row(['operation', 'ns/op median (min)', 'error', '÷ Map.get', 'bar']));
  console.log(row(['-'.repeat(46), ...Array.from({ length: 4 }, () => '-'.repeat(16))]));
  let baselineNs = Number.NaN;
  let missed = 0;
  for (const suite of chosen) {
    for (const one of await suite.prepare()) {
      const cost = measureCase(one, values.smoke === true);
      if (Number.isNaN(baselineNs)) baselineNs = cost.minNs;
      print(suite.name, cost, baselineNs);
      missed += misses(cost);
    }
  }
  if (missed > 0) console.log(`${missed} above the bar`);
  return missed > 0 && values.enforce === true ? 1 : 0;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  },
);
