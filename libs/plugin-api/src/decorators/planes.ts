import { SetMetadata } from '@nestjs/common';

/** Who may call a route. Every route has exactly one; a route without stops the start. */
export type Plane = 'control' | 'data' | 'public';

/** Metadata key of a route's {@link Plane}; a string, so that it survives two copies of the package. */
export const PLANE_METADATA = 'smg:plane';

/** Operators and trainers: guarded as the control plane is configured. */
export const ControlPlane = (): ClassDecorator & MethodDecorator =>
  SetMetadata(PLANE_METADATA, 'control');

/** Inference clients: guarded by the serving keys. */
export const DataPlane = (): ClassDecorator & MethodDecorator =>
  SetMetadata(PLANE_METADATA, 'data');

/** Anyone: probes and public information. */
export const Public = (): ClassDecorator & MethodDecorator => SetMetadata(PLANE_METADATA, 'public');
