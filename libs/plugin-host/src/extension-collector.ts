import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { type InstanceWrapper } from '@nestjs/core/injector/instance-wrapper';
import { type ExtensionPoint } from '@smg/plugin-api';

/** How {@link ExtensionCollector.collect} tells two extensions apart. */
export interface CollectOptions<T> {
  /** Name of an extension; unique within its point. Default: its `name`. */
  readonly unique?: (extension: T) => unknown;
}

/**
 * Finds every registration at an extension point, in whichever module it was made, and refuses what
 * would otherwise be lost or shared in silence.
 *
 * Call it from `onModuleInit` or later: inside a provider factory, asynchronous providers of other
 * modules may not exist yet.
 */
@Injectable()
export class ExtensionCollector {
  constructor(private readonly discovery: DiscoveryService) {}

  /**
   * Extensions in the order the modules were scanned; callers sort.
   * @throws Error naming the registration and its module: no singleton, no object, no name, or a
   * name that is taken.
   */
  collect<T extends object>(
    point: ExtensionPoint<T>,
    options: CollectOptions<T> = {},
  ): readonly T[] {
    const nameOf = options.unique ?? ((extension: T) => (extension as { name?: unknown }).name);
    const found: T[] = [];
    const owners = new Map<string, string>();
    for (const wrapper of this.discovery.getProviders()) {
      if (!point.owns(wrapper.token)) continue;
      const owner = wrapper.host?.metatype.name ?? 'an unnamed module';
      const registration = `${String(wrapper.token)} (module ${owner})`;
      const extension = singletonOf(wrapper, registration) as T;
      const name = nameOf(extension);
      if (typeof name !== 'string' || name.trim() === '') {
        throw new Error(`${registration} has no name; give it a unique, non-empty \`name\``);
      }
      const holder = owners.get(name);
      if (holder !== undefined) {
        throw new Error(
          `${point.id}: the name '${name}' is taken twice, by module ${holder} and by module ${owner}`,
        );
      }
      owners.set(name, owner);
      found.push(extension);
    }
    return found;
  }
}

function singletonOf(wrapper: InstanceWrapper, registration: string): object {
  // Outside the singletons Nest holds a bare prototype here: no name, no dependencies.
  if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) {
    throw new Error(
      `${registration} is not a singleton, or depends on a request-scoped provider; extensions must be singletons`,
    );
  }
  const instance: unknown = wrapper.instance;
  if (typeof instance !== 'object' || instance === null) {
    throw new Error(`${registration} did not produce an object`);
  }
  return instance;
}
