import { type GivenValue } from '../given-value';
import { OPTIONS_BY_FLAG } from '../option-table';
import { type AnyOption } from '../option';

/**
 * Options of the gateway that nobody gave, taken from flags of the engine that have the same name:
 * `--api-key` is the key of both. Only options without a default; those this version does not have
 * are the engine's alone.
 */
export function argFallback(
  engine: readonly string[],
  given: ReadonlySet<AnyOption>,
): readonly GivenValue[] {
  const found = new Map<AnyOption, GivenValue>();
  for (const [at, word] of engine.entries()) {
    const flag = /^--([^=]+)(?:=([\s\S]*))?$/.exec(word);
    const name = flag?.[1] ?? '';
    const option = OPTIONS_BY_FLAG.get(name);
    if (option === undefined || given.has(option) || !mayFallBack(option)) continue;
    const value = flag?.[2] ?? nextValue(engine[at + 1]);
    if (value === undefined) continue;
    // The last one counts, for the engine as well.
    found.set(option, { option, label: `--${name}`, raw: { form: 'words', words: [value] } });
  }
  return [...found.values()];
}

function mayFallBack({ availability, default: value, kind }: AnyOption): boolean {
  return availability === 'available' && value === undefined && kind.arity === 'one';
}

function nextValue(word: string | undefined): string | undefined {
  return word?.startsWith('-') === false ? word : undefined;
}
