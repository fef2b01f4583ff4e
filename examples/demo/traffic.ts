import { Agent } from 'node:http';
import { call, type Reply } from './http';
import { type Stats } from './stats';

/** Clients asking at the same time. */
const CLIENTS = 6;
/** Milliseconds a client thinks between two requests. */
const THINK_MS = 25;

const QUESTIONS = ['What is a token?', 'Name three rivers.', 'Why is the sky blue?', 'Say hello.'];

interface Ask {
  readonly path: string;
  readonly body: { readonly stream: boolean };
}

/** Buffered and streamed, chat and completion, in turn. */
function askOf(turn: number): Ask {
  const question = QUESTIONS[turn % QUESTIONS.length] ?? '';
  const stream = turn % 2 === 1;
  return turn % 4 < 2
    ? {
        path: '/v1/chat/completions',
        body: {
          model: 'mock-model',
          stream,
          messages: [{ role: 'user', content: question }],
        } as Ask['body'],
      }
    : {
        path: '/v1/completions',
        body: { model: 'mock-model', stream, prompt: question } as Ask['body'],
      };
}

/** What is wrong with an answer; undefined for a good one. */
function faultOf(ask: Ask, reply: Reply): string | undefined {
  if (reply.status !== 200) return `status ${reply.status}: ${reply.body.slice(0, 200)}`;
  if (typeof reply.headers['x-smg-routed-worker-id'] !== 'string') return 'no routed worker named';
  if (ask.body.stream) {
    return reply.body.endsWith('data: [DONE]\n\n') ? undefined : 'a stream without its end';
  }
  return reply.body.includes('"choices":[') ? undefined : 'an answer without choices';
}

/** Clients in loops, until stopped. */
export class Traffic {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly loops: readonly Promise<void>[];
  private isStopping = false;

  constructor(
    private readonly gateway: string,
    private readonly stats: Stats,
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
    const what = `${ask.path}${ask.body.stream ? ' (stream)' : ''}`;
    try {
      const reply = await call(this.gateway + ask.path, ask.body, { agent: this.agent });
      const fault = faultOf(ask, reply);
      if (fault === undefined) {
        const worker = String(reply.headers['x-smg-routed-worker-id']);
        this.stats.succeeded(worker, performance.now() - since);
      } else {
        this.stats.fail(`${what}: ${fault}`);
      }
    } catch (error) {
      this.stats.fail(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
