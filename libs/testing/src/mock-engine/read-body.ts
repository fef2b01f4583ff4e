import { type IncomingMessage } from 'node:http';

/** Reads a request body. @returns undefined when the client left before its end. */
export function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.once('end', () => {
      resolve(Buffer.concat(parts));
    });
    incoming.once('error', () => {
      resolve(undefined);
    });
    incoming.once('close', () => {
      resolve(undefined);
    });
  });
}
