import { type Plane, PLANE_METADATA } from '@smg/plugin-api';

const PLANES: ReadonlySet<unknown> = new Set<Plane>(['control', 'data', 'public']);

/** Plane of a route: the handler's own, else its class's; undefined when neither says one. */
export function planeOf(handler: object, controller: object): Plane | undefined {
  const plane: unknown =
    Reflect.getMetadata(PLANE_METADATA, handler) ?? Reflect.getMetadata(PLANE_METADATA, controller);
  return PLANES.has(plane) ? (plane as Plane) : undefined;
}
