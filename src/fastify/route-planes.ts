import { type INestApplicationContext, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { planeOf } from '@smg/auth';
import { type Plane } from '@smg/plugin-api';

const pathsOf = (target: object): string[] => {
  const value: unknown = Reflect.getMetadata(PATH_METADATA, target);
  return [value].flat().filter((path): path is string => typeof path === 'string');
};

/** `/a/` and `b` as `/a/b`. */
function join(...parts: readonly string[]): string {
  const path = parts
    .flatMap((part) => part.split('/'))
    .filter((part) => part !== '')
    .join('/');
  return `/${path}`;
}

/** Plane of every route, whoever declared it. */
export class RoutePlanes {
  /** @param declared by method and template: `POST /workers`. */
  constructor(readonly declared: ReadonlyMap<string, Plane>) {}

  /** A route that no controller declares has no guard behind it: the strictest plane holds. */
  of(method: string, template: string): Plane {
    const { declared } = this;
    return (
      declared.get(`${method} ${template}`) ??
      (method === 'HEAD' ? declared.get(`GET ${template}`) : undefined) ??
      declared.get(`ALL ${template}`) ??
      'control'
    );
  }
}

/** Planes of every route of the application's controllers. */
export function planesOfRoutes(app: INestApplicationContext): RoutePlanes {
  const planes = new Map<string, Plane>();
  const scanner = app.get(MetadataScanner);
  for (const { metatype } of app.get(DiscoveryService).getControllers()) {
    if (typeof metatype !== 'function') continue;
    const prototype = metatype.prototype as Record<string, unknown>;
    for (const name of scanner.getAllMethodNames(prototype)) {
      const handler = prototype[name];
      if (typeof handler !== 'function') continue;
      const plane = planeOf(handler, metatype);
      const method: unknown = Reflect.getMetadata(METHOD_METADATA, handler);
      if (plane === undefined || typeof method !== 'number') continue;
      for (const base of pathsOf(metatype)) {
        for (const path of pathsOf(handler)) {
          planes.set(`${RequestMethod[method] ?? ''} ${join(base, path)}`, plane);
        }
      }
    }
  }
  return new RoutePlanes(planes);
}
