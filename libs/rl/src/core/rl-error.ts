import { type ConnectionMode } from '@smg/protocol';

/** Statuses of the control plane's own error codes. Source: SMG RL contract 2.5. */
export const RL_ERROR_STATUS = {
  invalid_engine_path: 400,
  selector_required: 400,
  invalid_selector: 400,
  no_workers_match: 400,
  invalid_body: 400,
  invalid_version: 400,
  invalid_version_policy: 400,
  worker_not_found: 404,
  unsupported_connection_mode: 422,
  upstream_unreachable: 502,
  upstream_timeout: 504,
} as const satisfies Record<string, number>;

export type RlErrorCode = keyof typeof RL_ERROR_STATUS;

/** An answer `{"error", "message", …}` of the control plane; the code is the contract. */
export class RlError extends Error {
  override readonly name = 'RlError';
  readonly status: number;

  /** @param context further members of the body. */
  constructor(
    readonly code: RlErrorCode,
    message: string,
    readonly context: Readonly<Record<string, string | number>> = {},
  ) {
    super(message);
    this.status = RL_ERROR_STATUS[code];
  }

  body(): Readonly<Record<string, string | number>> {
    return { error: this.code, message: this.message, ...this.context };
  }
}

/** The worker an error is about. */
interface Named {
  readonly id: string;
  readonly url: string;
}

/** Texts of the errors, one maker each. */
export const rlErrors = {
  invalidEnginePath: (why: string) =>
    new RlError('invalid_engine_path', `invalid engine path: ${why}`),
  selectorRequired: () =>
    new RlError('selector_required', 'a non-empty `selector` query parameter is required'),
  /** @param offset bytes into the trimmed text. */
  invalidSelector: (offset: number, why: string) =>
    new RlError('invalid_selector', `invalid selector at byte ${offset}: ${why}`, { offset }),
  noWorkersMatch: (selector: string) =>
    new RlError('no_workers_match', `no workers match selector \`${selector}\``, { selector }),
  invalidBody: (message: string) => new RlError('invalid_body', message),
  invalidVersion: (message: string) => new RlError('invalid_version', message),
  invalidVersionPolicy: (message: string) => new RlError('invalid_version_policy', message),
  workerNotFound: (id: string) =>
    new RlError('worker_not_found', `worker \`${id}\` not found`, { id }),
  unsupportedConnectionMode: (worker: Named, mode: ConnectionMode) =>
    new RlError('unsupported_connection_mode', unsupportedText(worker.id, mode), {
      worker_id: worker.id,
      url: worker.url,
      connection_mode: mode,
    }),
  upstreamUnreachable: (worker: Named, detail: string) =>
    new RlError('upstream_unreachable', unreachableText(worker.url, detail), {
      worker_id: worker.id,
      url: worker.url,
    }),
  /** @param seconds the deadline. */
  upstreamTimeout: (worker: Named, seconds: number) =>
    new RlError('upstream_timeout', timeoutText(worker.url, seconds), {
      worker_id: worker.id,
      url: worker.url,
    }),
} as const;

export function unsupportedText(id: string, mode: ConnectionMode): string {
  return `worker \`${id}\` uses connection mode \`${mode}\`, which cannot be proxied`;
}

export function unreachableText(url: string, detail: string): string {
  return `upstream \`${url}\` unreachable: ${detail}`;
}

export function timeoutText(url: string, seconds: number): string {
  return `upstream \`${url}\` timed out after ${seconds}s`;
}
