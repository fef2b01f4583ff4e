import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { chatRequest, FILTER_HEADER } from './chat-request';
import { nowMicros, sleep } from './clock';
import { type Target } from './messages';
import { nginxConfig } from './nginx-config';
import { POLICY_VARIANTS, type VariantName } from './options';
import { groupMembers } from './proc';
import { statusOf } from './response-reader';
import { freePort, type Held, type Workshop } from './workshop';

/** A variant that answered; `held` is undefined for `direct`. */
export interface Running {
  readonly name: VariantName;
  readonly target: Target;
  readonly held: Held | undefined;
  /** From spawn to the end of the first 2xx head. */
  readonly startMs: number;
}

/** A variant that cannot be measured, and why. */
export interface Missing {
  readonly name: VariantName;
  readonly reason: string;
  /** True: it is there and should have worked. False: it is not installed or not built. */
  readonly failed: boolean;
}

/** What every start needs to know. */
export interface StartContext {
  readonly workshop: Workshop;
  readonly backendPort: number;
  readonly apiKey: string;
  /** Further ports of the backend: more workers, for variants that choose among several. */
  readonly morePorts: readonly number[];
  /** Lets the memory suite ask for a collection; see gc-on-signal. */
  readonly collectable: boolean;
}

/** Time from spawn until the first good answer must have come. */
const START_MS = 20_000;
/** A port that looked free can be taken before the process binds it. */
const ATTEMPTS = 3;

const GATEWAY = join(__dirname, '../../src/main.js');

/** Starts one variant and waits until it relays. */
export async function startVariant(
  name: VariantName,
  context: StartContext,
): Promise<Running | Missing> {
  const { backendPort, apiKey } = context;
  if (name === 'direct') {
    const target = { port: backendPort, apiKey, pids: [] };
    return { name, target, held: undefined, startMs: 0 };
  }
  const absent = absence(name);
  if (absent !== undefined) return { name, reason: absent, failed: false };
  let reason = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = await freePort();
    const held = await spawnVariant(name, port, context);
    let failure = await firstAnswer(held, port, context);
    const startMs = (nowMicros() - held.spawnedAtUs) / 1e3;
    if (failure === undefined && name === 'gateway-rl') failure = await giveVersion(port, apiKey);
    if (failure === undefined) {
      const pids = groupMembers(held.pid);
      return { name, target: { port, apiKey, pids }, held, startMs };
    }
    reason = `${failure}\n${context.workshop.lastWords(held)}`.trim();
    await context.workshop.stop(held);
    if (!/EADDRINUSE|address already in use/i.test(reason)) break;
  }
  // A failing program may echo its arguments; the run's key must not end up in a CI log.
  return { name, reason: reason.replaceAll(apiKey, '***'), failed: true };
}

export function isRunning(variant: Running | Missing): variant is Running {
  return 'target' in variant;
}

/** The nginx program, undefined when there is none. */
export function findNginx(): string | undefined {
  for (const candidate of ['nginx', '/usr/sbin/nginx', '/usr/local/sbin/nginx']) {
    try {
      execFileSync(candidate, ['-v'], { stdio: 'ignore' });
      return candidate;
    } catch {
      // Try the next place.
    }
  }
  return undefined;
}

function absence(name: VariantName): string | undefined {
  if (name === 'nginx' && findNginx() === undefined) return 'nginx is not installed';
  const isGateway = name !== 'nginx' && name !== 'bare';
  if (isGateway && !existsSync(GATEWAY)) return 'dist/src/main.js is not built';
  return undefined;
}

async function spawnVariant(
  name: VariantName,
  port: number,
  { workshop, backendPort, morePorts, apiKey, collectable }: StartContext,
): Promise<Held> {
  if (name === 'nginx') {
    const directory = mkdtempSync(join(workshop.directory, 'nginx-'));
    const config = join(directory, 'nginx.conf');
    writeFileSync(config, nginxConfig(directory, port, backendPort, process.getuid?.() === 0));
    return workshop.start(name, findNginx()!, ['-p', directory, '-c', config]);
  }
  const node = collectable ? ['--expose-gc', '-r', join(__dirname, 'gc-on-signal.js')] : [];
  const backend = `http://127.0.0.1:${backendPort}`;
  if (name === 'bare') {
    const script = join(__dirname, 'bare-proxy.js');
    return workshop.start(name, process.execPath, [...node, script, String(port), backend]);
  }
  const metricsPort = await freePort();
  return workshop.start(name, process.execPath, [
    ...node,
    GATEWAY,
    'launch',
    ...['--host', '127.0.0.1', '--port', String(port)],
    ...['--worker-urls', backend, ...workersOf(name, morePorts)],
    ...['--policy', name === 'cache-aware' ? 'cache_aware' : 'round_robin'],
    ...['--api-key', apiKey],
    ...['--worker-filter-header', FILTER_HEADER],
    ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metricsPort)],
    // The access log of every request, at the level it is written at.
    ...['--log-level', 'info'],
    ...(name === 'gateway-rl' ? ['--enable-rl', '--rl-version-policy', 'latest-only'] : []),
  ]);
}

/** URLs of further workers. */
function workersOf(name: VariantName, ports: readonly number[]): readonly string[] {
  if (!(POLICY_VARIANTS as readonly VariantName[]).includes(name)) return [];
  return ports.map((port) => `http://127.0.0.1:${port}`);
}

/** Gives the worker a version, so that every request is filtered and every answer stamped. */
async function giveVersion(port: number, apiKey: string): Promise<string | undefined> {
  const selector = encodeURIComponent('connection_mode=http');
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/rl/version?selector=${selector}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ weight_version: '1' }),
      signal: AbortSignal.timeout(2_000),
    });
    await response.arrayBuffer();
    return response.ok ? undefined : `POST /v1/rl/version answered ${response.status}`;
  } catch (error) {
    return `POST /v1/rl/version failed: ${String(error)}`;
  }
}

/** Asks until a 2xx comes. @returns undefined on success, else what went wrong last. */
async function firstAnswer(
  held: Held,
  port: number,
  { workshop, apiKey }: StartContext,
): Promise<string | undefined> {
  const request = chatRequest(port, apiKey, false);
  const deadline = Date.now() + START_MS;
  let last = 'never listened';
  while (Date.now() < deadline) {
    const status = await tryOnce(port, request);
    if (status !== undefined && status >= 200 && status < 300) return undefined;
    if (status !== undefined) last = `answered ${status}`;
    else if (!(await workshop.isAlive(held))) return 'ended at start';
    await sleep(2);
  }
  return `${last} within ${START_MS / 1000} s`;
}

/** Status of one answer; undefined when there was none. */
function tryOnce(port: number, request: Buffer): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    let head = '';
    socket.setTimeout(2_000, () => socket.destroy());
    socket.on('connect', () => socket.write(request));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(undefined));
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      try {
        resolve(statusOf(head));
      } catch {
        resolve(undefined);
      }
      socket.destroy();
    });
  });
}
