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

/** How bodies are read. */
export interface BodyRules {
  /** Whether the matched route reads its own body. */
  readonly isRelayed: (route: string) => boolean;
  /** Largest control-plane body in bytes. */
  readonly limit: number;
  /** The same for bodies that are passed on to an engine as bytes. */
  readonly bytesLimit: number;
  /** Milliseconds the client may pause; 0 waits for ever. */
  readonly idleMs: number;
  /** The body is about to be read. */
  readonly onWanted: (request: IncomingMessage) => void;
}

/** Whether the route was declared with `@RouteConfig({ keepsBytes: true })`: its body is not parsed. */
function keepsBytes(request: FastifyRequest): boolean {
  return Reflect.get(request.routeOptions.config, 'keepsBytes') === true;
}

/** Whether a message announces a body, which a GET may as well. */
function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function collect(
  payload: IncomingMessage,
  rules: Pick<BodyRules, 'limit' | 'idleMs' | 'onWanted'>,
  done: (error: Error | null, body: Buffer) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let settled = false;
  const finish = (error: Error | null, body = Buffer.alloc(0)): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    chunks.length = 0;
    done(error, body);
  };
  const tooLarge = (): void => {
    finish(new BodyError(413, 'Request body is too large'));
  };
  if (Number(payload.headers['content-length'] ?? 0) > rules.limit) {
    tooLarge();
    return;
  }
  rules.onWanted(payload);
  if (rules.idleMs > 0) {
    timer = setTimeout(() => {
      finish(new BodyError(408, 'The request body stalled'));
    }, rules.idleMs);
  }
  payload.on('data', (chunk: Buffer) => {
    if (settled) return;
    timer?.refresh();
    bytes += chunk.length;
    if (bytes <= rules.limit) chunks.push(chunk);
    else tooLarge();
  });
  payload.on('end', () => {
    finish(null, Buffer.concat(chunks));
  });
  payload.on('error', (error) => {
    finish(error);
  });
  payload.on('close', () => {
    finish(new BodyError(400, 'The request body is not complete'));
  });
}

/**
 * Parsers of the routes that Nest serves. Bodies of data-plane routes (when they run through Nest's
 * router) are left unread for the relay, those of unknown routes for nobody. JSON is parsed, unless the
 * route keeps bytes; anything else reaches the handler as bytes.
 */
export function registerBodyParsers(fastify: FastifyInstance, rules: BodyRules): void {
  fastify.removeAllContentTypeParsers();
  // Bytes that are passed on may be called anything, also what is no media type, which Fastify refuses.
  // What the client said stays in the raw headers.
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (keepsBytes(request) && request.headers['content-type'] !== undefined) {
      request.headers['content-type'] = 'application/octet-stream';
    }
    done();
  });
  const leaveUnread = (request: FastifyRequest): boolean =>
    request.is404 || rules.isRelayed(request.routeOptions.url ?? '');
  const bytesRules = { ...rules, limit: rules.bytesLimit };

  fastify.addContentTypeParser(
    /^application\/(.+\+)?json/i,
    (request: FastifyRequest, payload: IncomingMessage, done: Done) => {
      if (leaveUnread(request)) {
        done(null, undefined);
        return;
      }
      collect(payload, rules, (error, body) => {
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
      else collect(payload, keepsBytes(request) ? bytesRules : rules, done);
    },
  );

  // Fastify reads no body of a GET; a route that passes bodies on wants that one too.
  fastify.addHook('preValidation', (request, _reply, done) => {
    if (request.method !== 'GET' || !keepsBytes(request) || !hasBody(request)) {
      done();
      return;
    }
    collect(request.raw, bytesRules, (error, body) => {
      request.body = body;
      done(error ?? undefined);
    });
  });
}

function parseJson(body: Buffer): [Error | null, unknown] {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return [null, value];
  } catch {
    return [new BodyError(400, 'The body is not valid JSON'), undefined];
  }
}
