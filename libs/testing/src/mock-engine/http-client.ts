import { type Agent, request as httpRequest } from 'node:http';

/** What a test client got. */
export interface Got {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  /** Set when the answer broke off. */
  readonly broken: string | undefined;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read JSON loosely and assert on it
  json(): any;
}

/** One request over a connection of its own; rejects only when no head arrived. */
export function send(
  url: string,
  method = 'GET',
  body?: unknown,
  options: { readonly headers?: Record<string, string>; readonly agent?: Agent } = {},
): Promise<Got> {
  const payload =
    body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    let broken: string | undefined;
    let hasHead = false;
    const outgoing = httpRequest(
      url,
      { method, agent: options.agent ?? false, headers: options.headers ?? {} },
      (response) => {
        const parts: Buffer[] = [];
        hasHead = true;
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', (error) => (broken ??= error.message));
        response.on('close', () => {
          const bytes = Buffer.concat(parts);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            rawHeaders: response.rawHeaders,
            body: bytes,
            text: bytes.toString('utf8'),
            broken: broken ?? (response.complete ? undefined : 'incomplete'),
            json: () => JSON.parse(bytes.toString('utf8')) as unknown,
          });
        });
      },
    );
    outgoing.on('error', (error) => {
      if (hasHead) broken ??= error.message;
      else reject(error);
    });
    outgoing.end(payload);
  });
}

/** Payloads of the `data:` lines of an SSE body. */
export function sseData(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length));
}
