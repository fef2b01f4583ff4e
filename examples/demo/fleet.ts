import { Child } from './child';
import { type WorkerRow } from './display';
import { freePort } from './free-port';
import { call } from './http';
import { type EngineKind } from './refit';
import { type RolloutEngine } from './trainer';

/** How long a child may take to start, in milliseconds. */
const START_MS = 30_000;

interface EngineSpec {
  readonly name: string;
  readonly kind: EngineKind;
  /** Milliseconds before the first token, and between tokens. */
  readonly latency: number;
  readonly tokenLatency: number;
}

const ENGINES: readonly EngineSpec[] = [
  { name: 'sglang, fast', kind: 'sglang', latency: 20, tokenLatency: 4 },
  { name: 'sglang, slow', kind: 'sglang', latency: 60, tokenLatency: 8 },
  { name: 'vllm', kind: 'vllm', latency: 35, tokenLatency: 5 },
];

/** A running gateway with its engines. */
export interface Fleet {
  readonly url: string;
  readonly metricsUrl: string;
  /** Engine URL to what it is. */
  readonly engines: ReadonlyMap<string, string>;
  readonly children: readonly Child[];
  workers(): Promise<readonly WorkerRow[]>;
  /** The engines as a trainer addresses them. */
  rolloutEngines(): Promise<readonly RolloutEngine[]>;
}

/** A row of GET /workers, as far as it is read. */
interface RegistryRow {
  readonly url: string;
  readonly status: string;
  readonly load: number;
}

/** A row of GET /v1/rl/workers, as far as it is read. */
interface RolloutRow {
  readonly id: string;
  readonly url: string;
  readonly control: string;
  readonly weight_version: string | null;
}

async function rowsOf<Row>(url: string): Promise<readonly Row[]> {
  const { status, body } = await call(url);
  if (status !== 200) throw new Error(`${url} answered ${status}`);
  return (JSON.parse(body) as { workers: Row[] }).workers;
}

/** Health and load are the registry's to tell, versions and pauses the RL control plane's. */
async function workersOf(gateway: string): Promise<readonly WorkerRow[]> {
  const registered = await rowsOf<RegistryRow>(`${gateway}/workers`);
  const rollout = await rowsOf<RolloutRow>(`${gateway}/v1/rl/workers`);
  return registered.map(({ url, status, load }) => {
    const row = rollout.find((one) => one.url === url);
    const version = row?.weight_version ?? null;
    return { url, status, load, control: row?.control ?? '-', version };
  });
}

/** Resolves when every engine is ready behind the gateway. @throws Error when it is not in time. */
async function untilReady(
  gateway: Child,
  url: string,
  report: (text: string) => void,
): Promise<void> {
  const until = performance.now() + START_MS;
  let last = '';
  while (performance.now() < until) {
    if (gateway.hasExited) throw new Error(`the gateway ended while starting\n${gateway.output}`);
    try {
      const rows = await rowsOf<RegistryRow>(`${url}/workers`);
      const ready = rows.filter(({ status }) => status === 'ready').length;
      const text = `  ${ready} of ${ENGINES.length} workers ready`;
      if (text !== last) report((last = text));
      if (ready === ENGINES.length) return;
    } catch {
      // Not listening yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the workers were not ready within ${START_MS / 1000} s\n${gateway.output}`);
}

/** Starts the gateway; on a port that someone took in the meantime, once more on others. */
async function startGateway(
  engines: readonly string[],
  wantedPort: number,
  report: (text: string) => void,
): Promise<{ child: Child; url: string; metricsUrl: string }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(attempt === 1 ? wantedPort : 0);
    if (wantedPort !== 0 && port !== wantedPort)
      report(`  port ${wantedPort} is taken: using ${port}`);
    const metricsPort = await freePort();
    const flags = {
      '--host': '127.0.0.1',
      '--port': String(port),
      '--prometheus-host': '127.0.0.1',
      '--prometheus-port': String(metricsPort),
      '--policy': 'round_robin',
      '--worker-filter-header': 'x-demo-workers',
      '--rl-version-policy': 'latest-only',
      // While the first engine with new weights has not resumed, nobody may serve: retries wait.
      '--retry-max-retries': '30',
      '--retry-initial-backoff-ms': '100',
      '--retry-max-backoff-ms': '1000',
    };
    const child = new Child('gateway', [
      'launch',
      '--enable-rl',
      ...Object.entries(flags).flat(),
      '--worker-urls',
      ...engines,
    ]);
    const url = `http://127.0.0.1:${port}`;
    try {
      await untilReady(child, url, report);
      return { child, url, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` };
    } catch (error) {
      await child.stop();
      if (attempt >= 3 || !child.output.includes('EADDRINUSE')) throw error;
    }
  }
}

/** Starts everything. Children of a failed start are left to `Child.stopAll`. */
export async function startFleet(
  wantedPort: number,
  report: (text: string) => void,
): Promise<Fleet> {
  report('Starting three mock engines …');
  const children = ENGINES.map(({ name, kind, latency, tokenLatency }) => {
    const flags = {
      '--port': '0',
      '--kind': kind,
      '--latency': String(latency),
      '--token-latency': String(tokenLatency),
    };
    return new Child(name, ['mock-engine', ...Object.entries(flags).flat()]);
  });
  const urls = await Promise.all(children.map((child) => child.listening(START_MS)));
  urls.forEach((url, at) => {
    report(`  ${url}  ${ENGINES[at]?.name ?? ''}`);
  });
  report('Starting the gateway …');
  const gateway = await startGateway(urls, wantedPort, report);
  report(`  ${gateway.url}  in front of all three`);
  return {
    url: gateway.url,
    metricsUrl: gateway.metricsUrl,
    engines: new Map(urls.map((url, at) => [url, ENGINES[at]?.name ?? ''])),
    children: [...children, gateway.child],
    workers: () => workersOf(gateway.url),
    rolloutEngines: async () => {
      const rows = await rowsOf<RolloutRow>(`${gateway.url}/v1/rl/workers`);
      return urls.flatMap((url, at) => {
        const id = rows.find((row) => row.url === url)?.id;
        const spec = ENGINES[at];
        return id === undefined || spec === undefined
          ? []
          : [{ id, name: spec.name, kind: spec.kind }];
      });
    },
  };
}
