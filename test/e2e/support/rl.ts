import { type PartialGatewayConfig } from '../../../src';
import { type MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway, type StartOptions } from '../../support/gateway';
import { send, type Answer, type Sending } from '../../support/http';

/** A row of the discovery list; tests reach into it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- wire JSON of any shape
export type Row = Record<string, any>;

/** The RL control plane of a gateway, for tests. */
export class RlClient {
  constructor(
    readonly url: string,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  /** One request below `/v1/rl`. */
  ask(path: string, sending: Sending = {}): Promise<Answer> {
    return send(`${this.url}/v1/rl${path}`, {
      ...sending,
      headers: { ...this.headers, ...sending.headers },
    });
  }

  async rows(): Promise<Row[]> {
    return (await this.ask('/workers')).json['workers'];
  }

  /** Row of an engine. */
  async row(engine: { readonly url: string }): Promise<Row> {
    const row = (await this.rows()).find(({ base_url }) => base_url === engine.url);
    if (row === undefined) throw new Error(`no row for ${engine.url}`);
    return row;
  }

  async id(engine: { readonly url: string }): Promise<string> {
    return (await this.row(engine))['id'];
  }

  /** R3, a POST with a JSON body unless told otherwise. */
  async call(
    engine: { readonly url: string },
    path: string,
    sending: Sending = {},
  ): Promise<Answer> {
    const id = await this.id(engine);
    return this.ask(`/workers/${id}/engine/${path}`, { method: 'POST', body: {}, ...sending });
  }

  /** R4. @param query further query, such as `&level=2`. */
  fanout(path: string, selector: string, sending: Sending = {}, query = ''): Promise<Answer> {
    return this.ask(`/engine/${path}?selector=${encodeURIComponent(selector)}${query}`, {
      method: 'POST',
      body: {},
      ...sending,
    });
  }

  /** R5. */
  async setVersion(engine: { readonly url: string }, version: unknown): Promise<Answer> {
    const id = await this.id(engine);
    return this.ask(`/workers/${id}/version`, { body: { weight_version: version } });
  }

  /** R6. */
  async setControl(engine: { readonly url: string }, control: unknown): Promise<Answer> {
    const id = await this.id(engine);
    return this.ask(`/workers/${id}/state`, { body: { control } });
  }

  /** R7. */
  setFleetVersion(version: unknown, selector: string): Promise<Answer> {
    return this.ask(`/version?selector=${encodeURIComponent(selector)}`, {
      body: { weight_version: version },
    });
  }

  /** R8. */
  setFleetControl(control: unknown, selector: string): Promise<Answer> {
    return this.ask(`/state?selector=${encodeURIComponent(selector)}`, { body: { control } });
  }
}

export interface RlGateway extends RunningGateway {
  readonly rl: RlClient;
}

/** Boots a gateway with the RL control plane on; `config` over that. */
export async function startRl(
  config: PartialGatewayConfig = {},
  options: StartOptions = {},
): Promise<RlGateway> {
  const gateway = await startGateway(
    {
      ...config,
      rl: { enabled: true, ...config.rl },
      routing: { policy: 'round_robin', ...config.routing },
      retry: { maxAttempts: 1, ...config.retry },
    },
    options,
  );
  return { ...gateway, rl: new RlClient(gateway.url) };
}

/** One `/generate` through the gateway. */
export function generateAt(
  gateway: { readonly url: string },
  headers: Readonly<Record<string, string>> = {},
  body: object = {},
): Promise<Answer> {
  return send(`${gateway.url}/generate`, { headers, body: { text: 'Hello', ...body } });
}

/** URLs of the workers that served `count` such requests, and the statuses, both sorted and distinct. */
export async function serversOf(
  gateway: { readonly url: string },
  count: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly workers: string[]; readonly statuses: number[] }> {
  const workers = new Set<string>();
  const statuses = new Set<number>();
  for (let i = 0; i < count; i += 1) {
    const answer = await generateAt(gateway, headers);
    statuses.add(answer.status);
    const worker = answer.headers['x-smg-routed-worker-id'];
    if (worker !== undefined) workers.add(String(worker));
  }
  return { workers: [...workers].sort(), statuses: [...statuses].sort() };
}

/** Starts engines and gives a function that stops them. */
export async function startAll(...engines: MockEngine[]): Promise<() => Promise<void>> {
  for (const engine of engines) await engine.start();
  return async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
  };
}

export const urlsOf = (...engines: readonly MockEngine[]): string[] =>
  engines.map(({ url }) => url).sort();
