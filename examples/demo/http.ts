import { request, type Agent, type IncomingHttpHeaders } from 'node:http';

/** What a request brought. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface CallOptions {
  readonly agent?: Agent;
  /** Milliseconds for the whole of it; 10,000 unless told otherwise. */
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request; rejects when it fails, breaks off or takes longer than its time. */
export function call(url: string, body?: unknown, options: CallOptions = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: body === undefined ? 'GET' : 'POST',
        agent: options.agent ?? false,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...options.headers,
        },
        signal: AbortSignal.timeout(options.timeoutMs ?? 10_000),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => (text += part));
        response.on('error', reject);
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
