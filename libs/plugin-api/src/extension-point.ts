import { type FactoryProvider, type Provider, type Type } from '@nestjs/common';

/** A provider made by a function, for what a class cannot say. */
export interface ExtensionFactory<T> {
  /** Names the registration in messages; any non-empty text. */
  readonly label: string;
  readonly useFactory: (...dependencies: never[]) => T | Promise<T>;
  readonly inject?: FactoryProvider['inject'];
}

/**
 * A place where modules add to the gateway. Nest has no multi-providers, and the same token twice in
 * one module silently keeps the last; so each registration gets a token of its own
 * (`smg:candidate-filter#GpuClassFilter`) and the gateway collects them at boot.
 *
 * Tokens are strings, not symbols: they survive two installed copies of this package.
 */
export interface ExtensionPoint<T> {
  readonly id: string;
  /**
   * Providers that register `use`; spread them into a module's `providers`.
   * @throws Error when another class, or a factory, of the same name was registered at this point.
   */
  provide(use: Type<T> | ExtensionFactory<T>): Provider[];
  /** Whether `token` is a registration at this point. */
  owns(token: unknown): boolean;
}

/** Makes an extension point. `id` is part of the public API: choose it once. */
export function defineExtensionPoint<T>(id: string): ExtensionPoint<T> {
  const prefix = `${id}#`;
  const classes = new Map<string, Type<T>>();
  const factories = new Map<string, number>();

  /** A factory may be registered again, by a second gateway of the process for one. */
  const factoryToken = (label: string): string => {
    if (label === '') throw new Error(`${id}: an extension factory needs a label`);
    if (classes.has(label)) throw new Error(`${id}: ${label} is the name of a class already`);
    const nth = (factories.get(label) ?? 0) + 1;
    factories.set(label, nth);
    return nth === 1 ? prefix + label : `${prefix}${label}(${nth})`;
  };

  const classToken = (use: Type<T>): string => {
    const known = classes.get(use.name);
    if ((known !== undefined && known !== use) || factories.has(use.name)) {
      throw new Error(
        `${id}: ${use.name} is registered already, by another class or a factory; rename one, or register it with { label, useFactory }`,
      );
    }
    classes.set(use.name, use);
    return prefix + use.name;
  };

  return {
    id,
    provide: (use) =>
      typeof use === 'function'
        ? [use, { provide: classToken(use), useExisting: use }]
        : [
            {
              provide: factoryToken(use.label),
              useFactory: use.useFactory,
              inject: use.inject ?? [],
            },
          ],
    owns: (token) => typeof token === 'string' && token.startsWith(prefix),
  };
}
