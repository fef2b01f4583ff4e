import { readFileSync } from 'node:fs';
import { parseCommandLine } from '@smg/config';
import { GatewayLog } from '@smg/observability';
import { REQUEST_OBSERVER, type RequestObserver } from '@smg/plugin-api';
import { createGateway } from '../create-gateway';
import { type Gateway } from '../gateway';
import { programVersions } from '../package-info';
import { collectorOfRuntime, IdleCollector } from '../runtime/idle-collector';

/** Time the process may outlive its grace period before it is ended regardless. */
export const LAST_RESORT_MS = 1000;

export interface ProcessLike {
  readonly env: Readonly<Record<string, string | undefined>>;
  on(signal: 'SIGHUP' | 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * `smg launch`: reads the command line, starts the gateway and stays until a signal.
 * @returns an exit code when there is nothing to stay for, otherwise undefined.
 */
export async function launch(
  argv: readonly string[],
  program: ProcessLike,
): Promise<number | undefined> {
  const line = parseCommandLine(
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

  const { config } = line;
  const log = new GatewayLog({ level: config.observability.logLevel });
  for (const warning of line.warnings) log.logger.warn(warning, 'config');
  try {
    const gateway = await createGateway(config, { log });
    let isStopping = false;
    // A listener for good: without one, a second signal (npm and shells pass Ctrl-C on twice) would end
    // the process at once and cut what is draining. The grace period bounds the wait; SIGKILL ends it.
    const stop = (signal: string) => () => {
      if (isStopping) return;
      isStopping = true;
      log.logger.log(`${signal}: draining`, 'shutdown');
      const graceMs = config.requests.shutdownGracePeriodSecs * 1000;
      setTimeout(() => {
        program.exit(0);
      }, graceMs + LAST_RESORT_MS).unref();
      void gateway.shutdown().then(
        () => {
          program.exit(0);
        },
        () => {
          program.exit(1);
        },
      );
    };
    program.on('SIGTERM', stop('SIGTERM'));
    program.on('SIGINT', stop('SIGINT'));
    program.on('SIGHUP', () => void gateway.reload());
    await gateway.listen();
    giveMemoryBackWhenIdle(gateway);
    log.logger.log(`listening on ${config.listener.host} port ${gateway.port}`, 'listener');
    return undefined;
  } catch (error) {
    await log.flush();
    console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

export function giveMemoryBackWhenIdle(gateway: Gateway): void {
  const collect = collectorOfRuntime();
  if (collect === undefined) return;
  new IdleCollector(gateway.app.get<RequestObserver>(REQUEST_OBSERVER), collect).start();
}
