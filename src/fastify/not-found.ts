import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

/** Turns a route template (`/workers/:id`, `/x/*`) into a pattern that matches a whole path. */
function patternOf(template: string): RegExp {
  const source = template
    .split('/')
    .map((part) => {
      if (part === '*') return '.*';
      if (part.startsWith(':')) return '[^/]+';
      return part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    })
    .join('/');
  return new RegExp(`^${source}$`);
}

/**
 * Answers what no route matched: a known path with another method is 405 with `Allow`, anything else
 * is 404; both without a body. Must be called before routes are added.
 */
export class UnmatchedRoutes {
  private readonly methods = new Map<
    string,
    { readonly pattern: RegExp; readonly allowed: Set<string> }
  >();

  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRoute', (route) => {
      const known = this.methods.get(route.url);
      const entry = known ?? { pattern: patternOf(route.url), allowed: new Set<string>() };
      if (known === undefined) this.methods.set(route.url, entry);
      for (const method of [route.method].flat()) entry.allowed.add(method);
    });
  }

  /** Methods of the routes that match a path, sorted; empty for an unknown path. */
  allowedMethods(path: string): string[] {
    const allowed = new Set<string>();
    for (const entry of this.methods.values()) {
      if (entry.pattern.test(path)) for (const method of entry.allowed) allowed.add(method);
    }
    return [...allowed].sort();
  }

  readonly answer = (request: FastifyRequest, reply: FastifyReply): void => {
    const path = request.raw.url?.split('?', 1)[0] ?? '';
    const allowed = this.allowedMethods(path);
    if (allowed.length > 0) void reply.header('allow', allowed.join(', ')).code(405);
    else void reply.code(404);
    void reply.header('content-length', '0').send();
  };
}
