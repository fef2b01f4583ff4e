import { isJson } from './read.js';

/** Longest piece of a body that is not JSON, in an error text. */
const MAX_TEXT = 200;

/** Code and message of an answer, in the shape of the RL API or in that of the inference routes. */
function read(payload: unknown): { readonly code: string; readonly text: string } {
  if (!isJson(payload)) {
    const text = typeof payload === 'string' ? payload.trim() : '';
    return {
      code: 'http_error',
      text: text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`,
    };
  }
  const { error } = payload;
  const { code, message } = isJson(error)
    ? { code: error['code'], message: error['message'] }
    : { code: error, message: payload['message'] };
  return {
    code: typeof code === 'string' && code !== '' ? code : 'unknown',
    text: typeof message === 'string' ? message : '',
  };
}

/**
 * The gateway refused, or its answer is not one of the RL API.
 *
 * The message is `<code> (HTTP <status>): <what the gateway says>`. Connections that fail are not an `RlError`.
 */
export class RlError extends Error {
  override readonly name: string = 'RlError';
  /** HTTP status of the gateway's answer. */
  readonly status: number;
  /**
   * `error` of the answer, such as `worker_not_found`; `http_error` when it is no JSON object (a 401, or the empty 404
   * of a gateway without `--enable-rl`), `unknown` when it names none, `unexpected_response` when it is a success, but not
   * of this API.
   */
  readonly code: string;
  /** The answer: parsed when it is JSON, else its text. */
  readonly payload: unknown;

  constructor(status: number, payload: unknown, options?: ErrorOptions) {
    const { code, text } = read(payload);
    super(`${code} (HTTP ${status})${text === '' ? '' : `: ${text}`}`, options);
    this.status = status;
    this.code = code;
    this.payload = payload;
  }
}
