import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PartialGatewayConfig } from '@smg/config';
import { MetricStore } from '@smg/observability';
import { startGateway } from '../support/gateway';
import { codeSpans, filesBelow, tableRows, textOf } from './support/pages';

const PAGE = 'docs/reference/metrics.md';

interface Metric {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
}

/** What the page says: rows `| name | type | labels | meaning |`. */
function documented(): Metric[] {
  return tableRows(textOf(PAGE)).flatMap(([first = '', kind = '', labels = '']) => {
    const [name] = codeSpans(first);
    return name === undefined ? [] : [{ name, kind, labels: codeSpans(labels) }];
  });
}

/** What a booted gateway has registered, whether or not a series exists yet. */
async function registered(): Promise<Metric[]> {
  // One gate serves either way of limiting requests, with metrics of its own.
  const byLimit = await registeredWith({ maxConcurrentRequests: 8 });
  const byClass = await registeredWith({
    maxConcurrentRequests: 8,
    schedulerEnabled: true,
  });
  const names = new Set(byLimit.map(({ name }) => name));
  return [...byLimit, ...byClass.filter(({ name }) => !names.has(name))];
}

async function registeredWith(
  admission: NonNullable<PartialGatewayConfig['admission']>,
): Promise<Metric[]> {
  const folder = mkdtempSync(join(tmpdir(), 'smg-metrics-'));
  const rateLimitConfig = join(folder, 'limits.yaml');
  writeFileSync(rateLimitConfig, 'tenants: []\n');
  const running = await startGateway({
    rl: { enabled: true },
    pd: { enabled: true },
    routing: { engineMetrics: true },
    admission,
    tenants: { rateLimitEnabled: true, rateLimitConfig },
  });
  try {
    // Private, and the only place that knows a metric before its first series.
    const store: object = running.gateway.app.get(MetricStore);
    const families = Reflect.get(store, 'families') as ReadonlyMap<string, Omit<Metric, 'name'>>;
    return [...families].map(([name, { kind, labels }]) => ({ name, kind, labels }));
  } finally {
    await running.close();
    rmSync(folder, { recursive: true });
  }
}

const byName = (a: Metric, b: Metric): number => (a.name < b.name ? -1 : 1);

describe(PAGE, () => {
  it('lists what the gateway registers: names, types and labels, both ways', async () => {
    const ours = (await registered()).filter(({ name }) => name.startsWith('smg_'));
    expect(ours.length).toBeGreaterThan(20);
    expect(documented().sort(byName)).toEqual(ours.sort(byName));
  });

  it('lists every metric name that stands in the source, registered at boot or later', () => {
    const sources = [...filesBelow('libs', '.ts'), ...filesBelow('src', '.ts')].filter(
      (path) => !path.endsWith('.spec.ts') && !path.startsWith('libs/testing/'),
    );
    const names = sources.flatMap((path) =>
      // A log target may be named like one.
      [...textOf(path).matchAll(/(?<!new Logger\()['"](smg_[a-z0-9_]+)['"]/g)].map(
        (match) => match[1] ?? '',
      ),
    );
    const known = documented().map(({ name }) => name);
    expect(names.length).toBeGreaterThan(20);
    expect([...new Set(names)].filter((name) => !known.includes(name))).toEqual([]);
  });
});
