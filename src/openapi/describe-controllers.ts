import { type INestApplicationContext, Logger } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { DESCRIPTION_METADATA, type RouteDescriptions } from '@smg/plugin-api';

const DESCRIBED = 'smg:described';

/** Loads what `@DescribedBy` names and applies it, once per class and process. */
export function describeControllers(app: INestApplicationContext): void {
  for (const { metatype } of app.get(DiscoveryService, { strict: false }).getControllers()) {
    if (typeof metatype !== 'function' || Reflect.hasOwnMetadata(DESCRIBED, metatype)) continue;
    const load: unknown = Reflect.getOwnMetadata(DESCRIPTION_METADATA, metatype);
    if (typeof load !== 'function') continue;
    Reflect.defineMetadata(DESCRIBED, true, metatype);
    try {
      describe(metatype, (load as () => RouteDescriptions)());
    } catch (error) {
      // That of a plug-in: its routes are shown without, and the others as ever.
      const why = error instanceof Error ? error.message : String(error);
      new Logger('openapi').error(`${metatype.name} is not described: ${why}`);
    }
  }
}

function describe(controller: NonNullable<object>, descriptions: RouteDescriptions): void {
  const target = controller as new () => object;
  // In the order in which a compiler applies stacked decorators: the last one first.
  for (const decorate of descriptions.controller.toReversed()) decorate(target);
  for (const [name, decorators] of Object.entries(descriptions.methods)) {
    const descriptor = Object.getOwnPropertyDescriptor(target.prototype, name);
    if (descriptor === undefined) throw new Error(`${target.name} has no method ${name}`);
    for (const decorate of decorators.toReversed()) {
      decorate(target.prototype as object, name, descriptor);
    }
  }
}
