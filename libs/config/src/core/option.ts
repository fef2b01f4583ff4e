import { type Kind } from './kinds/kind';

/** What every option has, built or not. */
interface OptionBase<V> {
  /** Long flag without its dashes. Its config-file key is the same with underscores. */
  readonly flag: string;
  /** Other spellings of the flag (and, with underscores, of the file key). */
  readonly aliases: readonly string[];
  /** Environment variable read when neither flag is given; only what the SMG contract names. */
  readonly env: string | undefined;
  readonly kind: Kind<V>;
  readonly default: V;
  /** Default as documented, where the value does not speak for itself. */
  readonly defaultText: string | undefined;
  readonly doc: string;
  /** Never repeated in a message; printed as a mask. */
  readonly secret: boolean;
  /** Not part of SMG's own command line. */
  readonly ours: boolean;
}

/** Works, and is part of the configuration under `key`. */
export interface AvailableOption<K extends string = string, V = unknown> extends OptionBase<V> {
  readonly availability: 'available';
  /** `section.name` in the configuration. */
  readonly key: K;
}

/** Works, but steers the start itself: never in a config file nor in the configuration. */
export interface CommandOption<V = unknown> extends OptionBase<V> {
  readonly availability: 'command';
}

/** Accepted so that launch scripts keep working; does nothing here. */
export interface InertOption<V = unknown> extends OptionBase<V> {
  readonly availability: 'inert';
  /** Why, to follow `--flag has no effect: `. */
  readonly inertBecause: string;
}

/** Part of SMG's command line, not built yet: giving it stops the start. */
export interface UnavailableOption<V = unknown> extends OptionBase<V> {
  readonly availability: 'unavailable';
}

/** One row of the table. */
export type AnyOption = AvailableOption | CommandOption | InertOption | UnavailableOption;

interface Extras {
  readonly aliases?: readonly string[];
  readonly env?: string;
  readonly defaultText?: string;
  readonly secret?: true;
  readonly ours?: true;
}

interface Spec<V> extends Extras {
  readonly default: V;
  readonly doc: string;
}

function base<V>(flag: string, kind: Kind<V>, spec: Spec<V>): OptionBase<V> {
  return {
    flag,
    kind,
    aliases: spec.aliases ?? [],
    env: spec.env,
    default: spec.default,
    defaultText: spec.defaultText,
    doc: spec.doc,
    secret: spec.secret ?? false,
    ours: spec.ours ?? false,
  };
}

export function option<const K extends `${string}.${string}`, V>(
  key: K,
  flag: string,
  kind: Kind<V>,
  spec: Spec<NoInfer<V>>,
): AvailableOption<K, V> {
  return { ...base<V>(flag, kind, spec), availability: 'available', key };
}

export function commandOption<V>(
  flag: string,
  kind: Kind<V>,
  spec: Spec<NoInfer<V>>,
): CommandOption<V> {
  return { ...base<V>(flag, kind, spec), availability: 'command' };
}

export function inert<V>(
  flag: string,
  kind: Kind<V>,
  spec: Spec<NoInfer<V>> & { readonly because: string },
): InertOption<V> {
  return { ...base<V>(flag, kind, spec), availability: 'inert', inertBecause: spec.because };
}

export function unavailable<V>(
  flag: string,
  kind: Kind<V>,
  spec: Spec<NoInfer<V>>,
): UnavailableOption<V> {
  return { ...base<V>(flag, kind, spec), availability: 'unavailable' };
}

/** Key of an option in a config file, from its flag or from an alias of it. */
export function fileKey(flag: string): string {
  return flag.replaceAll('-', '_');
}
