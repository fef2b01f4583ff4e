/** What an engine said, as `/v1/rl` reports it. */
export interface Outcome {
  readonly worker_id: string;
  readonly url: string;
  readonly status: number;
  readonly latency_ms: number;
  readonly body: unknown;
}

/** An engine that did not answer 2xx. */
interface Failure {
  readonly worker_id: string;
  readonly url: string;
  readonly message: string;
}

interface Report {
  readonly results: Readonly<Record<string, Outcome>>;
  readonly failed: readonly Failure[];
}

/** The few routes of `/v1/rl` that a refit needs. Every method throws an Error with a sentence when it was not done. */
export class ControlPlane {
  /**
   * @param smg base URL of the gateway.
   * @param apiKey the operator's key, when the gateway has one.
   * @param timeoutMs of one call; longer than the gateway's own, so that it is the gateway who tells of a timeout.
   */
  constructor(
    private readonly smg: string,
    private readonly apiKey: string | undefined,
    private readonly timeoutMs: number,
  ) {}

  /** Engines that match and answer. @throws Error when nobody matches or one does not answer. */
  async healthy(selector: string): Promise<readonly Outcome[]> {
    const query = `selector=${encodeURIComponent(selector)}`;
    const { status, body } = await this.fetch(`/v1/rl/engine/health?${query}`, undefined);
    if (status !== 200 && status !== 207) throw new Error(messageOf(body, status));
    const { results, failed } = body as Report;
    const [first] = failed;
    if (first !== undefined) throw new Error(`${first.url} is not healthy: ${first.message}`);
    return Object.values(results);
  }

  /** One route of one engine. @throws Error unless the engine did it. */
  async call(engine: Outcome, path: string, request: object): Promise<Outcome> {
    const route = `/v1/rl/workers/${engine.worker_id}/engine/${path}`;
    const { status, body } = await this.fetch(route, request);
    const outcome = body as Outcome;
    if (status !== 200) {
      throw new Error(`${engine.url}: ${path} failed: ${messageOf(outcome.body ?? body, status)}`);
    }
    const answer = outcome.body as { success?: boolean } | null;
    // An engine can refuse with a 200.
    if (answer?.success === false) throw new Error(`${engine.url}: ${path} was refused`);
    return outcome;
  }

  private async fetch(
    path: string,
    body: object | undefined,
  ): Promise<{ status: number; body: unknown }> {
    const response = await fetch(this.smg + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(this.apiKey === undefined ? {} : { authorization: `Bearer ${this.apiKey}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(this.timeoutMs),
    });
    const text = await response.text();
    try {
      return { status: response.status, body: JSON.parse(text) };
    } catch {
      // 401, or 404 when the gateway runs without RL: no JSON.
      throw new Error(`${path} answered ${response.status} ${text.slice(0, 200)}`.trim());
    }
  }
}

function messageOf(body: unknown, status: number): string {
  const { message } = (body ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : `status ${status}`;
}
