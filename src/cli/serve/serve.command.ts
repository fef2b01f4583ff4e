import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { type Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseServeLine } from '@smg/config';
import { GatewayLog } from '@smg/observability';
import { createGateway } from '../../create-gateway';
import { type Gateway } from '../../gateway';
import { programVersions } from '../../package-info';
import { giveMemoryBackWhenIdle, LAST_RESORT_MS, type ProcessLike } from '../launch.command';
import { EngineFleet } from './engine-fleet';
import { planEngines, type ServeOrder } from './engine-plans';

/** Why it ends. */
type Cause =
  | { readonly kind: 'signal'; readonly signal: 'SIGINT' | 'SIGTERM' }
  | { readonly kind: 'failure'; readonly text: string };

export interface ServeProcess extends ProcessLike {
  /** Lines of the engines. */
  readonly stderr: Writable;
}

/**
 * `smg serve`: starts engines, waits until they are ready, runs the gateway in front of them until a
 * signal or until an engine ends, and leaves no engine behind.
 * @returns the exit code, at the end: 128 + the signal's number, 1 for a failure, 2 for a bad line.
 */
export async function serve(argv: readonly string[], program: ServeProcess): Promise<number> {
  const line = parseServeLine(
    argv,
    { env: program.env, readFile: (path) => readFileSync(path, 'utf8') },
    programVersions(),
  );
  if (line.kind === 'error') {
    console.error(line.text);
    return line.exitCode;
  }
  if (line.kind === 'print') {
    for (const warning of line.warnings) console.error(`warning: ${warning}`);
    console.log(line.text);
    return line.exitCode;
  }
  // Whoever read the engines' lines is gone; the gateway is not for that.
  program.stderr.on('error', () => undefined);
  const log = new GatewayLog({ level: line.config.observability.logLevel });
  for (const warning of line.warnings) log.logger.warn(warning, 'config');
  return new ServeRun(line, log, program).run();
}

class ServeRun {
  private fleet: EngineFleet | undefined;
  private gateway: Gateway | undefined;
  /** Aborted when it is over: what is still under way starts nothing more. */
  private readonly over = new AbortController();

  constructor(
    private readonly order: ServeOrder,
    private readonly log: GatewayLog,
    private readonly program: ServeProcess,
  ) {}

  async run(): Promise<number> {
    const signalled = this.listenForSignals();
    let code = 1;
    try {
      const cause = await Promise.race([signalled, this.start().then(() => undefined)]);
      code = await this.conclude(
        cause ?? (await Promise.race([signalled, this.serveUntilFailure()])),
      );
    } catch (error) {
      console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.over.abort();
      // Whatever is still being built when a signal comes is thrown away with the process.
      await this.gateway?.close().catch(() => undefined);
      await this.fleet?.stop();
      await this.log.flush();
    }
    return code;
  }

  /** Resolves with the first one; a second Ctrl-C must not cut what is being ended. */
  private listenForSignals(): Promise<Cause> {
    this.program.on('SIGHUP', () => void this.gateway?.reload());
    return new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        this.program.on(signal, () => {
          resolve({ kind: 'signal', signal });
        });
      }
    });
  }

  private async start(): Promise<void> {
    const { serve: settings, config } = this.order;
    const plans = await planEngines(this.order, this.program.env);
    this.over.signal.throwIfAborted();
    this.fleet = new EngineFleet(plans, {
      output: this.program.stderr,
      log: (text) => {
        this.log.logger.log(text, 'serve');
      },
    });
    await this.fleet.untilReady(settings.startupTimeoutSecs * 1000);
    const urls = plans.map(({ url }) => url);
    const workers = { ...config.workers, urls };
    const gateway = await createGateway({ ...config, workers }, { log: this.log });
    this.over.signal.throwIfAborted();
    this.gateway = gateway;
    await gateway.listen();
    giveMemoryBackWhenIdle(gateway);
    const { host } = config.listener;
    this.log.logger.log(`listening on ${host} port ${gateway.port}`, 'listener');
  }

  private async serveUntilFailure(): Promise<Cause> {
    const text = await this.fleet?.failure(this.order.serve.engineExit);
    return { kind: 'failure', text: text ?? '' };
  }

  /** Lets the gateway finish what it has, while the engines still answer. @returns the exit code. */
  private async conclude(cause: Cause): Promise<number> {
    const { logger } = this.log;
    if (cause.kind === 'signal') logger.log(`${cause.signal}: draining`, 'shutdown');
    else logger.error(cause.text, 'serve');
    if (this.gateway !== undefined) {
      const graceMs = this.order.config.requests.shutdownGracePeriodSecs * 1000;
      await Promise.race([
        this.gateway.shutdown(),
        sleep(graceMs + LAST_RESORT_MS, undefined, { ref: false }),
      ]);
    }
    return cause.kind === 'signal' ? 128 + constants.signals[cause.signal] : 1;
  }
}
