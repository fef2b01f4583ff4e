import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type IncomingMessage } from 'node:http';

type Done = (error: Error | null, body?: unknown) => void;

/** An error Fastify answers with its `statusCode`; the message is for the client. */
class BodyError extends Error {
  override readonly name = 'BodyError';
  constructor(
    readonly statusCode: number,
    message: string,
  ) {
    super(message);
  }
}

function collect(
  payload: IncomingMessage,
  limit: number,
  done: (error: Error | null, body: Buffer) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let settled = false;
  const finish = (error: Error | null, body: Buffer): void => {
    if (settled) return;
    settled = true;
    done(error, body);
  };
  payload.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
    else {
      chunks.length = 0;
      finish(new BodyError(413, 'Request body is too large'), Buffer.alloc(0));
    }
  });
  payload.on('end', () => {
    finish(null, Buffer.concat(chunks));
  });
  payload.on('error', (error) => {
    finish(error, Buffer.alloc(0));
  });
}

/**
 * Parsers of the routes that Nest serves. Bodies of data-plane routes (when they run through Nest's
 * router) are left unread for the relay. JSON is parsed; anything else reaches the handler as bytes.
 *
 * @param isRelayed whether the matched route reads its own body.
 * @param limit largest control-plane body in bytes.
 */
export function registerBodyParsers(
  fastify: FastifyInstance,
  isRelayed: (route: string) => boolean,
  limit: number,
): void {
  fastify.removeAllContentTypeParsers();
  const leaveUnread = (request: FastifyRequest): boolean =>
    isRelayed(request.routeOptions.url ?? '');

  fastify.addContentTypeParser(
    /^application\/(.+\+)?json/i,
    (request: FastifyRequest, payload: IncomingMessage, done: Done) => {
      if (leaveUnread(request)) {
        done(null, undefined);
        return;
      }
      collect(payload, limit, (error, body) => {
        if (error !== null) {
          done(error);
        } else if (body.length === 0) {
          done(null, undefined);
        } else {
          done(...parseJson(body));
        }
      });
    },
  );

  fastify.addContentTypeParser(
    '*',
    (request: FastifyRequest, payload: IncomingMessage, done: Done) => {
      if (leaveUnread(request)) done(null, undefined);
      else collect(payload, limit, done);
    },
  );
}

function parseJson(body: Buffer): [Error | null, unknown] {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return [null, value];
  } catch {
    return [new BodyError(400, 'The body is not valid JSON'), undefined];
  }
}
