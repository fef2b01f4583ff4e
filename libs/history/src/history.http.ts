/** What the controllers use of a Fastify request. */
export interface HistoryRequest {
  readonly headers: { readonly authorization?: string | undefined };
}

/** What the controllers use of a Fastify reply. */
export interface HistoryReply {
  readonly raw: {
    readonly writableFinished: boolean;
    once(event: 'close', listener: () => void): unknown;
    off(event: 'close', listener: () => void): unknown;
  };
  code(status: number): this;
  header(name: string, value: string): this;
  send(body: unknown): this;
}

export const JSON_TYPE = 'application/json';
