import { type Exchange, type ResponseHead, type WorkerView } from '@smg/plugin-api';

/** RFC 9110: `token` and `field-value`. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What a test says of an exchange; everything else is a buffered `POST /generate`. */
export type FakeExchangeOptions = Partial<
  Pick<Exchange, 'requestId' | 'method' | 'route' | 'endpoint' | 'wantsStream' | 'attempt'>
> & {
  readonly routedWorker?: WorkerView;
  /** Names in any case. */
  readonly headers?: Readonly<Record<string, string>>;
};

export function fakeExchange(options: FakeExchangeOptions = {}): Exchange {
  const headers = new Map(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const notes = new Map<symbol, unknown>();
  return {
    requestId: options.requestId ?? 'gnt-test',
    method: options.method ?? 'POST',
    route: options.route ?? '/generate',
    endpoint: options.endpoint ?? 'generate',
    wantsStream: options.wantsStream ?? false,
    attempt: options.attempt ?? 1,
    routedWorker: options.routedWorker,
    header: (name) => headers.get(name),
    note(key, value) {
      notes.set(key, value);
    },
    noted: (key) => notes.get(key),
  };
}

/** A {@link ResponseHead} a test can look into. */
export class FakeHead implements ResponseHead {
  readonly status: number;
  readonly isStream: boolean;
  private readonly values = new Map<string, string>();

  constructor(
    options: {
      readonly status?: number;
      readonly isStream?: boolean;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    this.status = options.status ?? 200;
    this.isStream = options.isStream ?? false;
    for (const [name, value] of Object.entries(options.headers ?? {})) this.set(name, value);
  }

  get(name: string): string | undefined {
    return this.values.get(name.toLowerCase());
  }

  set(name: string, value: string): void {
    if (!TOKEN.test(name)) throw new TypeError(`${JSON.stringify(name)} is no header name`);
    if (!FIELD_VALUE.test(value)) throw new TypeError(`${name}: not a legal header value`);
    this.values.set(name.toLowerCase(), value);
  }

  delete(name: string): void {
    this.values.delete(name.toLowerCase());
  }

  /** Every header, by lower-case name. */
  entries(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.values);
  }
}
