import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { send, type Answer, type Sending } from '../../support/http';

/** What a framework does when a call does not succeed. */
export interface Persistence {
  /** Calls in total. */
  readonly tries: number;
  /** Between two of them; frameworks wait about a second, tests do not. */
  readonly pauseMs: number;
  /** Whether an answer is taken; a call without one never is. */
  readonly takes: (answer: Answer) => boolean;
}

/** 2xx, as `raise_for_status` has it. */
export const isOk = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** One attempt, whatever comes of it. */
export const ONCE: Persistence = { tries: 1, pauseMs: 0, takes: () => true };

/** A training framework as the gateway meets it: one pool of connections, one way to try again. */
export class Trainer {
  /** Answers and failures of every attempt, oldest first. */
  readonly attempts: (number | 'no answer')[] = [];
  private readonly agent = new Agent({ keepAlive: true });

  constructor(
    readonly url: string,
    private readonly persistence: Persistence = ONCE,
  ) {}

  /** @param target path with its query, or a whole URL for calls that go past the gateway. */
  async ask(target: string, sending: Sending = {}): Promise<Answer> {
    const url = target.startsWith('http') ? target : this.url + target;
    const { tries, pauseMs, takes } = this.persistence;
    let last: unknown;
    for (let at = 0; at < tries; at += 1) {
      if (at > 0) await sleep(pauseMs);
      try {
        const answer = await send(url, { agent: this.agent, ...sending });
        this.attempts.push(answer.status);
        if (takes(answer) && !answer.aborted) return answer;
        last = new Error(`${url}: ${answer.status} ${answer.text}`);
      } catch (error) {
        this.attempts.push('no answer');
        last = error;
      }
    }
    throw last;
  }

  post(
    target: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.ask(target, {
      method: 'POST',
      headers,
      ...(body === undefined ? {} : { body }),
    });
  }

  get(target: string): Promise<Answer> {
    return this.ask(target);
  }

  /** Calls until an answer holds, as polling loops do. */
  async poll(
    target: string,
    holds: (answer: Answer) => boolean,
    everyMs = 20,
    timeoutMs = 5_000,
  ): Promise<Answer> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const answer = await this.get(target);
      if (holds(answer)) return answer;
      if (performance.now() > until) throw new Error(`${target}: ${answer.status} ${answer.text}`);
      await sleep(everyMs);
    }
  }

  close(): void {
    this.agent.destroy();
  }
}
