/**
 * Words of a command, with the quotes of a shell and nothing else of it: no variables, no patterns.
 * @returns undefined when a quote is not closed.
 */
export function splitWords(command: string): readonly string[] | undefined {
  const words: string[] = [];
  let rest = command.trimStart();
  while (rest !== '') {
    const word = /^(?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+/.exec(rest)?.[0];
    if (word === undefined) return undefined;
    words.push(unquoted(word));
    const after = rest.slice(word.length);
    rest = after.trimStart();
    // What stops a word without a blank is an open quote or a lone backslash.
    if (rest === after && rest !== '') return undefined;
  }
  return words;
}

function unquoted(word: string): string {
  return word.replaceAll(
    /\\([\s\S])|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"/g,
    (_, escaped?: string, single?: string, double?: string) =>
      escaped ?? single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? '',
  );
}
