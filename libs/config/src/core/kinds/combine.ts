import { bad, good, type Parsed } from '../parsed';
import { showJson } from '../show';
import { type Kind, type Scalar } from './kind';

/** A presence flag: false until given. */
export const flag: Kind<boolean> = {
  label: 'flag',
  rule: '',
  arity: 'none',
  mayBeEmpty: true,
  fromArgs: () => good(true),
  fromJson: (value) =>
    typeof value === 'boolean'
      ? good(value)
      : bad(`expected true or false, got ${showJson(value)}`),
  toJson: (value) => value,
};

/** Exactly one value; when a flag is repeated the last one counts. */
export function one<V>(scalar: Scalar<V>): Kind<V> {
  return {
    label: scalar.label,
    rule: scalar.rule,
    arity: 'one',
    mayBeEmpty: false,
    fromArgs: (words) => scalar.parse(words.at(-1) ?? ''),
    fromJson: (value) => scalar.json(value),
    toJson: (value) => scalar.toJson(value),
  };
}

/** Like the kind given, but may stay unset; `null` in JSON. */
export function optional<V>(kind: Kind<V>): Kind<V | undefined> {
  return {
    ...kind,
    fromJson: (value) =>
      value === null || value === undefined ? good<V | undefined>(undefined) : kind.fromJson(value),
    toJson: (value) => (value === undefined ? null : kind.toJson(value)),
  };
}

function collect<V>(items: readonly unknown[], read: (item: unknown) => Parsed<V>) {
  const values: V[] = [];
  const notes: string[] = [];
  for (const [index, item] of items.entries()) {
    const parsed = read(item);
    if (!parsed.ok)
      return bad(items.length > 1 ? `entry ${index + 1}: ${parsed.problem}` : parsed.problem);
    values.push(parsed.value);
    if (parsed.note !== undefined) notes.push(parsed.note);
  }
  return good<readonly V[]>(values, notes.length > 0 ? notes.join('; ') : undefined);
}

function many<V>(
  scalar: Scalar<V>,
  spelling: { label: string; mayBeEmpty: boolean; split?: string },
): Kind<readonly V[]> {
  const words = (text: string) =>
    spelling.split === undefined ? [text] : text.split(spelling.split).map((word) => word.trim());
  const fromWords = (all: readonly string[]) =>
    collect(
      all.flatMap(words).filter((word) => spelling.split === undefined || word !== ''),
      (word) => scalar.parse(word as string),
    );
  return {
    label: `${spelling.label} of ${scalar.label}`,
    rule: scalar.rule,
    arity: 'many',
    mayBeEmpty: spelling.mayBeEmpty,
    fromArgs: fromWords,
    fromJson: (value) => {
      if (Array.isArray(value)) return collect(value, (item) => scalar.json(item));
      if (spelling.split !== undefined && typeof value === 'string') return fromWords([value]);
      return bad(`expected a JSON array, got a value of type ${jsonType(value)}`);
    },
    toJson: (values) => values.map((value) => scalar.toJson(value)),
  };
}

/** Zero or more words after one occurrence; repeats accumulate. */
export const list = <V>(scalar: Scalar<V>): Kind<readonly V[]> =>
  many(scalar, { label: 'list', mayBeEmpty: true });

/** One word per occurrence (several are accepted); repeats accumulate. */
export const append = <V>(scalar: Scalar<V>): Kind<readonly V[]> =>
  many(scalar, { label: 'append', mayBeEmpty: false });

/** Words split at commas; blanks around them and empty ones are dropped. */
export const csv = <V>(scalar: Scalar<V>): Kind<readonly V[]> =>
  many(scalar, { label: 'csv', mayBeEmpty: false, split: ',' });

/** Further check or change of a value that was read. */
export function refine<V>(kind: Kind<V>, rule: string, check: (value: V) => Parsed<V>): Kind<V> {
  const then = (parsed: Parsed<V>): Parsed<V> => (parsed.ok ? check(parsed.value) : parsed);
  return {
    ...kind,
    rule,
    fromArgs: (words) => then(kind.fromArgs(words)),
    fromJson: (value) => then(kind.fromJson(value)),
  };
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
