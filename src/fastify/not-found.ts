import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Plane } from '@smg/plugin-api';
import { type RoutePlanes } from './route-planes';

const STRICTEST_FIRST: readonly Plane[] = ['control', 'data', 'public'];

const pathOf = (request: FastifyRequest): string => request.raw.url?.split('?', 1)[0] ?? '';

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
    { readonly pattern: RegExp; readonly allowed: Set<string>; readonly planes: Set<Plane> }
  >();

  constructor(fastify: FastifyInstance, planes: RoutePlanes) {
    fastify.addHook('onRoute', (route) => {
      const known = this.methods.get(route.url);
      const entry = known ?? {
        pattern: patternOf(route.url),
        allowed: new Set<string>(),
        planes: new Set<Plane>(),
      };
      if (known === undefined) this.methods.set(route.url, entry);
      for (const method of [route.method].flat()) {
        entry.allowed.add(method);
        entry.planes.add(planes.of(method, route.url));
      }
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

  /** Plane of a path that has routes, but none of this method; undefined for an unknown path. */
  planeOf(request: FastifyRequest): Plane | undefined {
    const path = pathOf(request);
    const entries = [...this.methods.values()].filter(({ pattern }) => pattern.test(path));
    return STRICTEST_FIRST.find((plane) => entries.some(({ planes }) => planes.has(plane)));
  }

  readonly answer = (request: FastifyRequest, reply: FastifyReply): void => {
    const allowed = this.allowedMethods(pathOf(request));
    if (allowed.length > 0) void reply.header('allow', allowed.join(', ')).code(405);
    else void reply.code(404);
    void reply.header('content-length', '0').send();
  };
}
