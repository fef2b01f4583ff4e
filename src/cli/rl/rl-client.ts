import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { plainText } from './plain-text';
import { RlFailure } from './rl-failure';
import { type RlSettings } from './rl-settings';

/** A load may take minutes without a byte; something on the way might take the connection for dead. */
const KEEP_ALIVE_PROBES_MS = 30_000;
/** Longer answers of a gateway are no answers; engines' bodies are cut at 1 MiB before they get here. */
const MAX_ANSWER = 512 * 1024 * 1024;

export interface Sending {
  readonly method: string;
  /** Below `/v1/rl`, escaped. */
  readonly path: string;
  /** Escaped here. */
  readonly params?: readonly (readonly [name: string, value: string])[];
  /** Sent as it is, as JSON. */
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** What `text` says, when it is a JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The RL API of a gateway. Not `fetch`, which gives up after five minutes without an answer whatever the
 * deadline is.
 */
export class RlClient {
  constructor(private readonly settings: RlSettings) {}

  /** @throws RlFailure when no answer comes; the signal's reason when it aborts. */
  async send(sending: Sending): Promise<Answer> {
    const { url, timeoutMs } = this.settings;
    const deadline = AbortSignal.timeout(timeoutMs);
    const { signal } = sending;
    try {
      const both = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
      const { status, text } = await this.exchange(sending, both);
      return { status, text, json: objectIn(text) };
    } catch (error) {
      signal?.throwIfAborted();
      if (deadline.aborted) {
        throw new RlFailure(`no answer of the gateway within ${timeoutMs / 1000} s`);
      }
      throw new RlFailure(`cannot reach the gateway at ${url}: ${reasonOf(error)}`);
    }
  }

  private exchange(
    { method, path, params = [], body }: Sending,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string }> {
    const { url, token } = this.settings;
    const query = params.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
    const target = `${url}/v1/rl${path}${query === '' ? '' : `?${query}`}`;
    const headers = {
      accept: 'application/json',
      'user-agent': 'smg-rl-cli',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const send = target.startsWith('https:') ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = send(target, { method, headers, signal, agent: false }, (incoming) => {
        const chunks: Buffer[] = [];
        let size = 0;
        incoming.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_ANSWER) incoming.destroy(new Error('the answer is too long'));
          else chunks.push(chunk);
        });
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const status = incoming.statusCode ?? 0;
          resolve({ status, text: this.withoutToken(status, text) });
        });
      });
      outgoing.setSocketKeepAlive(true, KEEP_ALIVE_PROBES_MS);
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  /** Something on the way may echo what it was sent. */
  private withoutToken(status: number, text: string): string {
    const { token } = this.settings;
    if (token === undefined) return text;
    // In a success the token alone is left: a short one may be part of any word.
    const isSuccess = status >= 200 && status <= 299;
    return text.replaceAll(isSuccess ? `Bearer ${token}` : token, '***');
  }
}

function objectIn(text: string): Answer['json'] {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A host with several addresses fails with an error that has no text of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'the token is missing or unknown: SMG_ADMIN_TOKEN or --token-file',
  403: 'the token lacks the role admin',
};

/** What a refusal of the gateway says. */
export function refusalOf({ status, text, json }: Answer): string {
  const { error, message } = json ?? {};
  if (typeof error === 'string') {
    const detail = typeof message === 'string' ? `: ${message}` : '';
    return plainText(`${error} (HTTP ${status})${detail}`);
  }
  if (status === 404 && text === '') {
    return 'HTTP 404: there is no RL control plane; the gateway needs --enable-rl';
  }
  const hint = HINTS[status] ?? text.slice(0, 200);
  return plainText(`HTTP ${status}${hint === '' ? '' : `: ${hint}`}`);
}
