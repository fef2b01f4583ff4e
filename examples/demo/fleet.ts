import { Child } from './child';
import { type WorkerRow } from './display';
import { freePort } from './free-port';
import { call } from './http';

/** How long a child may take to start, in milliseconds. */
const START_MS = 30_000;

const ENGINES: readonly { readonly name: string; readonly flags: readonly string[] }[] = [
  { name: 'sglang, fast', flags: ['--kind', 'sglang', '--latency', '20', '--token-latency', '4'] },
  { name: 'sglang, slow', flags: ['--kind', 'sglang', '--latency', '60', '--token-latency', '8'] },
  { name: 'vllm', flags: ['--kind', 'vllm', '--latency', '35', '--token-latency', '5'] },
];

/** A running gateway with its engines. */
export interface Fleet {
  readonly url: string;
  readonly metricsUrl: string;
  /** Engine URL to what it is. */
  readonly engines: ReadonlyMap<string, string>;
  readonly children: readonly Child[];
  workers(): Promise<readonly WorkerRow[]>;
}

async function workersOf(gateway: string): Promise<readonly WorkerRow[]> {
  const { body } = await call(`${gateway}/workers`);
  return (JSON.parse(body) as { workers: WorkerRow[] }).workers;
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
      const rows = await workersOf(url);
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
    };
    const child = new Child('gateway', [
      'launch',
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
  const children = ENGINES.map(
    ({ name, flags }) => new Child(name, ['mock-engine', '--port', '0', ...flags]),
  );
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
  };
}
