import { Inject, Injectable } from '@nestjs/common';
import { WORKER_CALLER, type AskEngine, type WorkerCall, type WorkerCaller } from '@smg/plugin-api';

/** Metadata answers are small; anything larger is not one. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** What an engine is asked with. */
export interface EngineContact {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Asks engines small questions outside the data path: health, metadata, loads, flush. */
@Injectable()
export class EngineQuestions {
  constructor(@Inject(WORKER_CALLER) private readonly caller: WorkerCaller) {}

  /** A function that GETs a path of this engine and reads JSON. */
  asker(contact: EngineContact): AskEngine {
    return async (path) => {
      const answer = await this.caller.call(callOf(contact, 'GET', path));
      return { status: answer.status, json: parseJson(answer.body) };
    };
  }

  /** Status of a call whose body does not matter. @throws WorkerCallError */
  async status(contact: EngineContact, method: string, path: string): Promise<number> {
    return (await this.caller.call(callOf(contact, method, path))).status;
  }

  /** Why an engine is not healthy, in a few words without addresses; undefined when it is. */
  async fault(contact: EngineContact, path: string): Promise<string | undefined> {
    try {
      const status = await this.status(contact, 'GET', path);
      return status >= 200 && status < 300 ? undefined : `GET ${path} answered ${status}`;
    } catch (error) {
      // A call that failed names itself: `GET /health: cannot connect (ECONNREFUSED)`.
      return failureOf(error);
    }
  }
}

/** A short reason without addresses or credentials of a cause chain. */
export function failureOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown failure';
}

function callOf(contact: EngineContact, method: string, path: string): WorkerCall {
  return {
    baseUrl: contact.baseUrl,
    method,
    path,
    apiKey: contact.apiKey,
    timeoutMs: contact.timeoutMs,
    maxBodyBytes: MAX_ANSWER_BYTES,
    stopsAtLimit: true,
    ...(contact.signal === undefined ? {} : { signal: contact.signal }),
  };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
