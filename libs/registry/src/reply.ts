/** What the controllers use of a Fastify reply. */
export interface Reply {
  code(status: number): this;
  header(name: string, value: string): this;
  send(body: unknown): this;
}
