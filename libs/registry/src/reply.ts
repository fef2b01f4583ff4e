/** What the controllers use of a Fastify reply. */
export interface Reply {
  readonly raw: {
    once(event: 'close', listener: () => void): unknown;
    off(event: 'close', listener: () => void): unknown;
  };
  code(status: number): this;
  header(name: string, value: string): this;
  send(body: unknown): this;
}

/** A signal that fires when the client leaves before it was answered; release it when that is done. */
export function leaving({ raw }: Reply): {
  readonly left: AbortSignal;
  readonly release: () => void;
} {
  const controller = new AbortController();
  const onClose = (): void => {
    controller.abort();
  };
  raw.once('close', onClose);
  return {
    left: controller.signal,
    release: () => {
      raw.off('close', onClose);
    },
  };
}
