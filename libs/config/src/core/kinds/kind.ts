import { type Parsed } from '../parsed';

/** Reads one word of a command line, or one JSON value, as a `V`. */
export interface Scalar<V> {
  /** Type as the reference page names it, such as `u16`. */
  readonly label: string;
  /** The rule in short, such as `1..=65535`; empty when the label says it all. */
  readonly rule: string;
  parse(text: string): Parsed<V>;
  json(value: unknown): Parsed<V>;
  /** JSON form that {@link Scalar.json} reads back, except that secrets are masked. */
  toJson(value: V): unknown;
}

/** Reads everything given for one option. */
export interface Kind<V> {
  readonly label: string;
  readonly rule: string;
  /** Words the flag takes after one occurrence. */
  readonly arity: 'none' | 'one' | 'many';
  /** True: an occurrence without a word is legal (presence flags and lists). */
  readonly mayBeEmpty: boolean;
  /** Words of all occurrences, in order. */
  fromArgs(words: readonly string[]): Parsed<V>;
  fromJson(value: unknown): Parsed<V>;
  toJson(value: V): unknown;
}
