import { bad, good } from '../parsed';
import { show } from '../show';
import { type Scalar } from './kind';
import { text } from './texts';

/** One of a fixed set of words, exactly as spelled; `later` are known but not built yet. */
export function choice<const M extends string>(
  members: readonly M[],
  later: readonly string[] = [],
): Scalar<M> {
  const words = members.join(', ');
  const read = (word: unknown) => {
    const member = members.find((candidate) => candidate === word);
    if (member !== undefined) return good(member);
    if (later.includes(word as string))
      return bad(`${show(word)} is not available in this version`);
    return bad(`${show(word)} is not one of ${words}`);
  };
  return {
    label: 'choice',
    rule: choiceRule(members, later),
    parse: read,
    json: read,
    toJson: (word) => word,
  };
}

/** `on` or `off`, a boolean in the configuration. */
export const onOff: Scalar<boolean> = {
  label: 'on|off',
  rule: '',
  parse: (word) => readOnOff(word),
  json: (value) => readOnOff(value),
  toJson: (value) => (value ? 'on' : 'off'),
};

function readOnOff(value: unknown) {
  if (value === 'on' || value === true) return good(true);
  if (value === 'off' || value === false) return good(false);
  return bad(`${show(value)} is not on or off`);
}

/** A fixed word, or a name that a plug-in may bring; which of them exist is checked later. */
export function openChoice(members: readonly string[], later: readonly string[]): Scalar<string> {
  return text({
    label: 'choice',
    rule: `${choiceRule(members, later)}; with --plugin also any name of the form [a-z][a-z0-9_]*`,
    check: (word) => {
      if (later.includes(word)) return bad(`${show(word)} is not available in this version`);
      return /^[a-z][a-z0-9_]*$/.test(word)
        ? good(word)
        : bad(`${show(word)} is not one of ${members.join(', ')}`);
    },
  });
}

function choiceRule(members: readonly string[], later: readonly string[]): string {
  const words = members.join(', ');
  return later.length === 0 ? words : `${words} (not yet: ${later.join(', ')})`;
}
