import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type FetchAnswer, type FetchRequest } from './fetch-like.js';

/** A load may take ten minutes without a byte; something on the way might take the connection for dead. */
const KEEP_ALIVE_PROBES_MS = 30_000;

/** A host with several addresses fails with an error that has no text of its own. */
function withText(error: Error): Error {
  const { errors } = error as Partial<AggregateError>;
  if (error.message === '' && errors !== undefined) {
    error.message = errors.map((each) => (each as Error).message).join(', ');
  }
  return error;
}

/**
 * One request over one connection. Unlike Node's own `fetch` it has no time limits but the signal's, and no
 * connection is used twice, so none can be found closed.
 */
export function nodeFetch(url: string, init: FetchRequest): Promise<FetchAnswer> {
  const { method, headers, body, signal } = init;
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = send(url, { method, headers, signal, agent: false }, (incoming) => {
      resolve({
        status: incoming.statusCode ?? 0,
        text: async () => {
          const chunks: Buffer[] = [];
          for await (const chunk of incoming) chunks.push(chunk as Buffer);
          return Buffer.concat(chunks).toString('utf8');
        },
      });
    });
    outgoing.setSocketKeepAlive(true, KEEP_ALIVE_PROBES_MS);
    outgoing.on('error', (error) => {
      reject(withText(error));
    });
    outgoing.end(body);
  });
}
