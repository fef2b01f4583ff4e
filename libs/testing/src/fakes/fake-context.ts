import { UNKNOWN_MODEL } from '@smg/protocol';
import { type SelectionContext } from '@smg/plugin-api';

/** What a test says of the request under selection; everything else is a plain `/generate`. */
export type FakeContextOptions = Partial<
  Pick<SelectionContext, 'model' | 'endpoint' | 'leg' | 'attempt'>
> & {
  /** Names in any case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string | Buffer;
  readonly tokens?: readonly number[];
  readonly routingKey?: string;
  /** The routing key unless given. */
  readonly affinityKey?: string;
};

/** @example `fakeContext({ headers: { 'X-Acme-Tier': 'gold' }, text: 'Hello' })` */
export function fakeContext(options: FakeContextOptions = {}): SelectionContext {
  const headers = new Map(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const text = typeof options.text === 'string' ? Buffer.from(options.text) : options.text;
  return {
    model: options.model ?? UNKNOWN_MODEL,
    endpoint: options.endpoint ?? 'generate',
    leg: options.leg ?? 'regular',
    attempt: options.attempt ?? 1,
    header: (name) => headers.get(name),
    routingText: () => text,
    routingTokens: () => options.tokens,
    routingKey: () => options.routingKey,
    affinityKey: () => options.affinityKey ?? options.routingKey,
  };
}
