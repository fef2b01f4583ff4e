import { call } from './http';
import { refitSteps, type EngineKind } from './refit';

/** Milliseconds of traffic before the first refit, and between two refits. */
const TRAINING_MS = 3_000;
/** Milliseconds between two engines of one refit. */
const NEXT_ENGINE_MS = 200;

/** One engine as the trainer knows it. */
export interface RolloutEngine {
  readonly name: string;
  readonly kind: EngineKind;
  /** Worker id at the gateway. */
  readonly id: string;
}

/** What an engine call through `/v1/rl` answers, as far as it is read. */
interface Outcome {
  readonly status: number;
  readonly body: unknown;
}

/** Trains, so to speak: puts one weight version after the other on the engines, one by one. */
export class Trainer {
  /** Latest version that an engine confirmed; 0 before the first. */
  newest = 0;
  /** Latest version that every engine confirmed. */
  complete = 0;
  /** What it is doing now. */
  doing = 'waiting for the first weights';
  /** Why it gave up; undefined while all is well. */
  error: Error | undefined;
  private isStopping = false;
  private wake: (() => void) | undefined;
  private readonly done: Promise<void>;

  /** @param report gets one sentence for each refit that is over. */
  constructor(
    private readonly gateway: string,
    private readonly engines: readonly RolloutEngine[],
    private readonly report: (text: string) => void,
  ) {
    this.done = this.run().catch((error: unknown) => {
      this.error = error instanceof Error ? error : new Error(String(error));
    });
  }

  /** Lets the refit that is under way end. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.wake?.();
    await this.done;
  }

  private async run(): Promise<void> {
    for (let version = 1; ; version += 1) {
      await this.pause(version === 1 ? TRAINING_MS / 3 : TRAINING_MS);
      if (this.isStopping) return;
      const since = performance.now();
      // Each time another one first: it is the first whose running answers meet new weights.
      const first = version % this.engines.length;
      const order = [...this.engines.slice(first), ...this.engines.slice(0, first)];
      for (const engine of order) await this.refit(engine, version);
      this.complete = version;
      this.doing = `version ${version} is everywhere; training the next`;
      const seconds = ((performance.now() - since) / 1000).toFixed(1);
      this.report(`version ${version} rolled over ${this.engines.length} engines in ${seconds} s`);
    }
  }

  private async refit(engine: RolloutEngine, version: number): Promise<void> {
    for (const { doing, path, body, waitMs, publishes } of refitSteps(engine.kind, version)) {
      this.doing = `version ${version} to ${engine.name}: ${doing}`;
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      await this.control(engine, path, body);
      if (publishes) this.newest = Math.max(this.newest, version);
    }
    await new Promise((resolve) => setTimeout(resolve, NEXT_ENGINE_MS));
  }

  /** @throws Error unless the engine did it. */
  private async control({ id, name }: RolloutEngine, path: string, body: unknown): Promise<void> {
    const url = `${this.gateway}/v1/rl/workers/${id}/engine/${path}`;
    const reply = await call(url, body);
    if (reply.status !== 200) {
      throw new Error(`${path} on ${name}: status ${reply.status}: ${reply.body.slice(0, 200)}`);
    }
    const outcome = JSON.parse(reply.body) as Outcome;
    const answer = outcome.body as { success?: boolean } | string | null;
    // An engine can refuse with a 200.
    if (typeof answer === 'object' && answer?.success === false) {
      throw new Error(`${path} on ${name} failed: ${JSON.stringify(answer).slice(0, 200)}`);
    }
  }

  /** Ends early when the trainer is stopped. */
  private async pause(ms: number): Promise<void> {
    if (this.isStopping) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
