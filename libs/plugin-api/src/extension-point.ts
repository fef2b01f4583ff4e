import { type FactoryProvider, type Provider, type Type } from '@nestjs/common';

/** A provider made by a function, for what a class cannot say. */
export interface ExtensionFactory<T> {
  /** Distinguishes this registration from others of the same module; any non-empty text. */
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
   * @throws Error when another class of the same name was registered at this point.
   */
  provide(use: Type<T> | ExtensionFactory<T>): Provider[];
  /** Whether `token` is a registration at this point. */
  owns(token: unknown): boolean;
}

/** Makes an extension point. `id` is part of the public API: choose it once. */
export function defineExtensionPoint<T>(id: string): ExtensionPoint<T> {
  const prefix = `${id}#`;
  const labels = new Map<string, Type<T>>();
  return {
    id,
    provide(use) {
      if (typeof use !== 'function') {
        if (use.label === '') throw new Error(`${id}: an extension factory needs a label`);
        return [
          { provide: prefix + use.label, useFactory: use.useFactory, inject: use.inject ?? [] },
        ];
      }
      const known = labels.get(use.name);
      if (known !== undefined && known !== use) {
        throw new Error(
          `${id}: two different classes are named ${use.name}; rename one, or register it with { label, useFactory }`,
        );
      }
      labels.set(use.name, use);
      return [use, { provide: prefix + use.name, useExisting: use }];
    },
    owns: (token) => typeof token === 'string' && token.startsWith(prefix),
  };
}
