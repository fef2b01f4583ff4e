import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { planeOf } from './plane-of';

/** Refuses to start while a route, a plug-in's included, belongs to no plane. */
@Injectable()
export class PlaneAudit implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** @throws Error naming every unclassified controller and handler. */
  onModuleInit(): void {
    const unclassified: string[] = [];
    for (const wrapper of this.discovery.getControllers()) {
      const controller = wrapper.metatype;
      if (typeof controller !== 'function') continue;
      const prototype = controller.prototype as Record<string, unknown>;
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const handler = prototype[method];
        if (typeof handler !== 'function' || !Reflect.hasMetadata(PATH_METADATA, handler)) continue;
        if (planeOf(handler, controller) === undefined) {
          unclassified.push(`${controller.name}.${method}`);
        }
      }
    }
    if (unclassified.length === 0) return;
    throw new Error(
      `routes without a plane: ${unclassified.join(', ')}; decorate the handler or its controller with @ControlPlane(), @DataPlane() or @Public()`,
    );
  }
}
