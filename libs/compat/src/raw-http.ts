/** What the controllers use of a Fastify request; `body` is bytes where the route keeps them. */
export interface RawRequest {
  readonly method: string;
  readonly body: unknown;
  readonly raw: {
    /** Request target, percent-encoded. */
    readonly url?: string | undefined;
    /** Names and values in turn, as received. */
    readonly rawHeaders: readonly string[];
  };
}

/** What the controllers use of a Fastify reply. */
export interface RawReply {
  readonly raw: {
    readonly writableFinished: boolean;
    readonly destroyed: boolean;
    once(event: 'close', listener: () => void): unknown;
    off(event: 'close', listener: () => void): unknown;
  };
  code(status: number): this;
  header(name: string, value: string): this;
  send(body: unknown): this;
}

const EMPTY = Buffer.alloc(0);

export function bytesOf({ body }: RawRequest): Buffer {
  return Buffer.isBuffer(body) ? body : EMPTY;
}

/** Query of a request without `?`; empty when there is none. */
export function queryOf({ raw }: RawRequest): string {
  const url = raw.url ?? '';
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at + 1);
}

/**
 * Does `work` while its caller waits; when the caller leaves, `left` fires, and what `work` then throws
 * is nobody's business.
 */
export async function whileWaited(
  { raw }: RawReply,
  work: (left: AbortSignal) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  const onClose = (): void => {
    if (!raw.writableFinished) controller.abort();
  };
  if (raw.destroyed) onClose();
  raw.once('close', onClose);
  try {
    await work(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  } finally {
    raw.off('close', onClose);
  }
}
