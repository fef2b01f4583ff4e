import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { PLANE_METADATA, type Plane } from '@smg/plugin-api';
import { INFERENCE_ROUTES, type RouteFacts } from './core/inference-routes';
import { HOT_ROUTE_METADATA } from './hot-route.decorator';

/** One path of the data plane. */
export interface HotRouteEntry {
  readonly facts: RouteFacts;
  readonly method: 'GET' | 'POST';
  readonly isPublic: boolean;
  /** Value of `Allow` in a 405. */
  readonly allow: string;
}

/**
 * Reads the routes of a controller from the decorators Nest itself reads, so that the two lanes
 * cannot differ.
 * @throws Error when a route is declared on one side only, or without a plane.
 */
export function compileRoutes(controller: object): ReadonlyMap<string, HotRouteEntry> {
  const table = new Map<string, HotRouteEntry>();
  const methods = controller as Record<string, unknown>;
  for (const name of Object.getOwnPropertyNames(controller)) {
    const method = methods[name];
    if (typeof method !== 'function' || read(HOT_ROUTE_METADATA, method) !== true) continue;
    const entry = compile(method, name);
    table.set(entry.facts.path, entry);
  }
  for (const { path } of INFERENCE_ROUTES) {
    if (!table.has(path)) throw new Error(`the data-plane route ${path} is not declared`);
  }
  return table;
}

function compile(method: object, name: string): HotRouteEntry {
  const path = `/${String(read(PATH_METADATA, method)).replace(/^\//, '')}`;
  const facts = INFERENCE_ROUTES.find((route) => route.path === path);
  if (facts === undefined) throw new Error(`${name} declares ${path}, which has no route facts`);
  const plane = read(PLANE_METADATA, method) as Plane | undefined;
  if (plane !== 'data' && plane !== 'public') {
    throw new Error(`${name} (${path}) needs @DataPlane() or @Public()`);
  }
  const isGet = read(METHOD_METADATA, method) === RequestMethod.GET;
  return Object.freeze({
    facts,
    method: isGet ? 'GET' : 'POST',
    isPublic: plane === 'public',
    allow: isGet ? 'GET, HEAD' : 'POST',
  });
}

function read(key: string, target: object): unknown {
  return Reflect.getMetadata(key, target) as unknown;
}
