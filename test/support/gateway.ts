import { createGateway, loadConfig, type Gateway, type PartialGatewayConfig } from '../../src';
import { GatewayLog } from '@smg/observability';
import { type PluginModule } from '@smg/plugin-host';
import { type MockEngine } from '@smg/testing';
import { readFileSync } from 'node:fs';
import { send } from './http';
import { until } from './until';

/** A booted gateway under test. */
export interface RunningGateway {
  readonly gateway: Gateway;
  /** `http://127.0.0.1:<port>`; https when the configuration has a certificate. */
  readonly url: string;
  readonly port: number;
  /** Log lines so far, parsed. */
  readonly logs: Record<string, unknown>[];
  /** Raw text of every log line so far. */
  readonly rawLogs: string[];
  /** Text of a scrape. */
  metrics(): Promise<string>;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly engines?: readonly MockEngine[];
  readonly plugins?: readonly PluginModule[];
  /** Wait until as many workers are ready; the number of engines unless told otherwise. */
  readonly ready?: number;
}

/** Boots a gateway on free loopback ports, in front of `engines`, and waits until they are ready. */
export async function startGateway(
  config: PartialGatewayConfig = {},
  options: StartOptions = {},
): Promise<RunningGateway> {
  const rawLogs: string[] = [];
  const logs: Record<string, unknown>[] = [];
  const log = new GatewayLog({
    level: 'debug',
    destination: {
      write: (line: string) => {
        rawLogs.push(line);
        logs.push(JSON.parse(line));
      },
    },
  });
  const engines = options.engines ?? [];
  const gateway = await createGateway(
    loadConfig(
      {
        ...config,
        listener: { host: '127.0.0.1', port: 0, ...config.listener },
        workers: {
          startupCheckIntervalSecs: 1,
          ...(engines.length > 0 ? { urls: engines.map(({ url }) => url) } : {}),
          ...config.workers,
        },
        observability: {
          prometheusHost: '127.0.0.1',
          prometheusPort: 0,
          ...config.observability,
        },
        requests: { shutdownGracePeriodSecs: 2, ...config.requests },
      },
      { ephemeralPorts: true, pluginPolicies: (options.plugins ?? []).length > 0 },
    ),
    { log, plugins: options.plugins ?? [] },
  );
  await gateway.listen();
  const certPath = gateway.config.tls.certPath;
  // Certificates of tests are their own authority.
  const ca = certPath === undefined ? undefined : readFileSync(certPath, 'utf8');
  const url = `${ca === undefined ? 'http' : 'https'}://127.0.0.1:${gateway.port}`;
  const ready = options.ready ?? engines.length;
  const running: RunningGateway = {
    gateway,
    url,
    port: gateway.port,
    logs,
    rawLogs,
    metrics: async () =>
      (await send(`http://127.0.0.1:${gateway.metricsPort ?? 0}/metrics`, { method: 'GET' })).text,
    close: () => gateway.close(),
  };
  try {
    if (ready > 0) {
      await until(`${ready} workers are ready`, async () => {
        const answer = await send(`${url}/readiness`, { method: 'GET', ca });
        return answer.status === 200 && (answer.json['healthy_workers'] as number) >= ready;
      });
    }
  } catch (error) {
    await gateway.close();
    throw error;
  }
  return running;
}
