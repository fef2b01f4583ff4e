import { request as plainRequest, type Agent, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';

export interface Sending {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  /** A string or bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Keep-alive agent; each request has a connection of its own without one. */
  readonly agent?: Agent;
  /** PEM; the authority an `https:` server is checked against. */
  readonly ca?: string | undefined;
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  /** Lower-case names; repeats joined as Node does. */
  readonly headers: IncomingMessage['headers'];
  /** Flat list as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  /** The body as a JSON object; throws when it is none. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests reach into answers of any shape
  readonly json: Record<string, any>;
  /** The connection ended before the message did. */
  readonly aborted: boolean;
}

const requestTo = (url: string): typeof plainRequest =>
  url.startsWith('https:') ? tlsRequest : plainRequest;

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Sends one request and reads the whole answer; POST with a JSON content type when there is a body. */
export function send(url: string, sending: Sending = {}): Promise<Answer> {
  const body = bytesOf(sending.body);
  const method = sending.method ?? (body === undefined ? 'GET' : 'POST');
  return new Promise((resolve, reject) => {
    const outgoing = requestTo(url)(
      url,
      {
        ...(sending.ca === undefined ? {} : { ca: sending.ca }),
        method,
        agent: sending.agent ?? false,
        headers: {
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': body.length }),
          ...sending.headers,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        const finish = (): void => {
          const bytes = Buffer.concat(chunks);
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            rawHeaders: incoming.rawHeaders,
            body: bytes,
            text: bytes.toString('utf8'),
            get json() {
              return JSON.parse(bytes.toString('utf8'));
            },
            aborted: !incoming.complete,
          });
        };
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', finish);
        incoming.on('close', finish);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** A streamed answer, event by event as it arrives. */
export interface OpenStream {
  readonly incoming: IncomingMessage;
  /** Closes the client's connection at once. */
  leave(): void;
}

/** Sends one request and hands out the answer as soon as its head is there. */
export function open(url: string, sending: Sending = {}): Promise<OpenStream> {
  const body = bytesOf(sending.body);
  return new Promise((resolve, reject) => {
    const outgoing = requestTo(url)(
      url,
      {
        ...(sending.ca === undefined ? {} : { ca: sending.ca }),
        method: sending.method ?? 'POST',
        agent: sending.agent ?? false,
        headers: {
          'content-type': 'application/json',
          ...(body === undefined ? {} : { 'content-length': body.length }),
          ...sending.headers,
        },
      },
      (incoming) => {
        incoming.on('error', () => undefined);
        resolve({
          incoming,
          leave: () => {
            outgoing.destroy();
          },
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
