import { MockEngine, type MockEngineOptions } from '@smg/testing';
import { type PartialGatewayConfig } from '../../../src';
import { type RunningGateway, startGateway, type StartOptions } from '../../support/gateway';
import { until } from '../../support/until';
import { workersOf } from '../../support/workers';

/** A gateway in front of prefill and decode engines. */
export interface Pairs extends RunningGateway {
  readonly prefill: readonly MockEngine[];
  readonly decode: readonly MockEngine[];
  /** Both engines of a pair, or all of them. */
  readonly engines: readonly MockEngine[];
  /** Waits until nothing is in flight anywhere, as the gateway and as the engines see it. */
  untilIdle(): Promise<void>;
  stop(): Promise<void>;
}

export interface PairOptions extends StartOptions {
  readonly prefill?: readonly MockEngineOptions[];
  readonly decode?: readonly MockEngineOptions[];
  /** Bootstrap ports of the prefill engines, in order. */
  readonly ports?: readonly (string | undefined)[];
}

async function start(all: readonly MockEngineOptions[]): Promise<MockEngine[]> {
  return Promise.all(all.map((options) => new MockEngine(options).start()));
}

/** Boots engines and a gateway whose start-up workers they are. */
export async function startPairs(
  config: PartialGatewayConfig = {},
  { prefill = [{}], decode = [{}], ports = [], ...options }: PairOptions = {},
): Promise<Pairs> {
  const fillers = await start(prefill);
  const decoders = await start(decode);
  const words = fillers.flatMap(({ url }, index) => {
    const port = ports[index];
    return port === undefined ? [url] : [url, port];
  });
  const engines = [...fillers, ...decoders];
  const gateway = await startGateway(
    {
      ...config,
      pd: { enabled: true, prefill: words, decode: decoders.map(({ url }) => url), ...config.pd },
      retry: { disabled: true, initialBackoffMs: 1, maxBackoffMs: 5, ...config.retry },
      health: { checkIntervalSecs: 60, ...config.health },
    },
    { ready: engines.length, ...options },
  );
  const workers = workersOf(gateway.url);
  const stop = async (): Promise<void> => {
    await Promise.all(engines.map((engine) => engine.stop()));
    await gateway.close();
  };
  const untilIdle = (): Promise<void> =>
    until('nothing is in flight', async () => {
      const { workers: rows } = await workers.list();
      const loads = rows.map((row) => row.load);
      const busy = engines.map(({ counters }) => counters.inFlight);
      return [...loads, ...busy].every((count) => count === 0);
    });
  return { ...gateway, prefill: fillers, decode: decoders, engines, untilIdle, stop };
}
