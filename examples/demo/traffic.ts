import { Agent } from 'node:http';
import { call, type Reply } from './http';
import { type Stamp, type Stats } from './stats';

/** Clients asking at the same time. */
const CLIENTS = 6;
/** Milliseconds a client thinks between two requests. */
const THINK_MS = 25;
/** Milliseconds an answer may take, a refit on the way included. */
const ANSWER_MS = 30_000;

const QUESTIONS = ['What is a token?', 'Name three rivers.', 'Why is the sky blue?', 'Say hello.'];

/** Header the gateway reads requirements on workers from; see `fleet.ts`. */
const FILTER = 'x-demo-workers';

interface Ask {
  readonly path: string;
  readonly body: { readonly stream: boolean; readonly [field: string]: unknown };
  readonly headers?: Readonly<Record<string, string>>;
  /** Part of every good buffered answer. */
  readonly sign: string;
}

/** Chat and completions, buffered and streamed, and SGLang's own route, in turn. */
function askOf(turn: number): Ask {
  const question = QUESTIONS[turn % QUESTIONS.length] ?? '';
  const common = { model: 'mock-model', stream: turn % 2 === 1 };
  switch (turn % 6) {
    case 0:
    case 1: {
      const messages = [{ role: 'user', content: question }];
      const body = { ...common, messages };
      return { path: '/v1/chat/completions', body, sign: '"choices":[' };
    }
    case 2:
    case 3:
      return {
        path: '/v1/completions',
        body: { ...common, prompt: question },
        sign: '"choices":[',
      };
    default: {
      const sampling_params = { max_new_tokens: 16, ignore_eos: true };
      const body = { ...common, stream: false, text: question, sampling_params };
      // vLLM has no such route: only workers with a label that SGLang's discovery gives.
      const headers = { [FILTER]: 'tp_size=1' };
      return { path: '/generate', body, headers, sign: '"meta_info":{' };
    }
  }
}

/** What is wrong with an answer; undefined for a good one. */
function faultOf(ask: Ask, reply: Reply): string | undefined {
  if (reply.status !== 200) return `status ${reply.status}: ${reply.body.slice(0, 200)}`;
  if (typeof reply.headers['x-smg-routed-worker-id'] !== 'string') return 'no routed worker named';
  if (ask.body.stream) {
    return reply.body.endsWith('data: [DONE]\n\n') ? undefined : 'a stream without its end';
  }
  return reply.body.includes(ask.sign) ? undefined : 'not the answer that was asked for';
}

function headerOf({ headers }: Reply, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

function stampOf(reply: Reply): Stamp {
  const version = headerOf(reply, 'x-smg-weight-version');
  return {
    version,
    start: headerOf(reply, 'x-smg-weight-version-start') ?? version,
    isMixed: headerOf(reply, 'x-smg-mixed-version') === 'true',
  };
}

/** Clients in loops, until stopped. */
export class Traffic {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly loops: readonly Promise<void>[];
  private isStopping = false;

  /** @param newest tells the latest version any engine has confirmed; 0 for none. */
  constructor(
    private readonly gateway: string,
    private readonly stats: Stats,
    private readonly newest: () => number,
  ) {
    this.loops = Array.from({ length: CLIENTS }, (_, client) => this.loop(client));
  }

  /** Lets every request that was sent end. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all(this.loops);
    this.agent.destroy();
  }

  private async loop(client: number): Promise<void> {
    for (let turn = client; !this.isStopping; turn += 1) {
      await this.one(askOf(turn));
      await new Promise((resolve) => setTimeout(resolve, THINK_MS));
    }
  }

  private async one(ask: Ask): Promise<void> {
    const since = performance.now();
    const newest = this.newest();
    const what = `${ask.path}${ask.body.stream ? ' (stream)' : ''}`;
    try {
      const options = { agent: this.agent, timeoutMs: ANSWER_MS, headers: ask.headers ?? {} };
      const reply = await call(this.gateway + ask.path, ask.body, options);
      const fault = faultOf(ask, reply);
      if (fault === undefined) {
        const worker = String(reply.headers['x-smg-routed-worker-id']);
        this.stats.succeeded(worker, performance.now() - since, stampOf(reply), newest);
      } else {
        this.stats.fail(`${what}: ${fault}`);
      }
    } catch (error) {
      this.stats.fail(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
