import { type PartialGatewayConfig } from '../../../src';
import { MockEngine, type MockEngineOptions } from '@smg/testing';
import { startGateway, type RunningGateway } from '../../support/gateway';
import { RlClient } from '../../e2e/support/rl';
import { ONCE, Trainer, type Persistence } from './trainer';

/** A gateway, the engines a framework started, and the framework. */
export interface Fleet {
  readonly gateway: RunningGateway;
  readonly engines: readonly MockEngine[];
  readonly rl: RlClient;
  readonly trainer: Trainer;
  /** The engine at a position; there is one. */
  engine(at: number): MockEngine;
  stop(): Promise<void>;
}

export interface FleetOptions {
  readonly kind?: 'sglang' | 'vllm';
  readonly engines?: number;
  readonly engine?: MockEngineOptions;
  readonly config?: PartialGatewayConfig;
  /** The gateway knows the engines from its command line; left out, the framework registers them. */
  readonly isKnown?: boolean;
  readonly persistence?: Persistence;
}

/** Waits for a refit as the launch profiles have it, with less time between attempts. */
export const PATIENT = { maxAttempts: 200, initialBackoffMs: 5, maxBackoffMs: 20 } as const;

export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const { kind = 'sglang', isKnown = false, config = {}, persistence = ONCE } = options;
  const engines = Array.from(
    { length: options.engines ?? 2 },
    () => new MockEngine({ kind, tokens: 4, ...options.engine }),
  );
  for (const engine of engines) await engine.start();
  const gateway = await startGateway(
    {
      ...config,
      health: { drainSettleSecs: 0, ...config.health },
      routing: { policy: 'round_robin', ...config.routing },
      breaker: { disabled: true, ...config.breaker },
    },
    isKnown ? { engines } : {},
  );
  const trainer = new Trainer(gateway.url, persistence);
  return {
    gateway,
    engines,
    trainer,
    rl: new RlClient(gateway.url),
    engine(at) {
      const engine = engines[at];
      if (engine === undefined) throw new Error(`there is no engine ${at}`);
      return engine;
    },
    async stop() {
      trainer.close();
      await gateway.close();
      await Promise.all(engines.map((engine) => engine.stop()));
    },
  };
}
