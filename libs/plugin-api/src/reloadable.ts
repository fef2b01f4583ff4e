import { defineExtensionPoint } from './extension-point';

/** Something that reads files of its own again when the process gets SIGHUP. */
export interface Reloadable {
  /** Unique; named in the log. */
  readonly name: string;
  /**
   * Takes the new state as a whole or keeps the old one.
   * @throws Error that says what is wrong with the new state; the old one stays in force.
   */
  reload(): void | Promise<void>;
}

/** Register a {@link Reloadable}. */
export const RELOADABLE = defineExtensionPoint<Reloadable>('smg:reloadable');
