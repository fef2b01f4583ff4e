/** One requirement of a selector. */
export type SelectorTerm =
  | { readonly key: string; readonly operator: '=' | '!='; readonly value: string }
  | { readonly key: string; readonly operator: 'in' | 'notin'; readonly values: readonly string[] };

/** Requirements that all must hold. */
export type Selector = readonly SelectorTerm[];

export type ParsedSelector =
  | { readonly ok: true; readonly selector: Selector }
  /** `offset`: bytes of UTF-8 into the text that was given. */
  | { readonly ok: false; readonly offset: number; readonly why: string };

/** Value of a key of one worker; undefined when it has none. */
export type SelectorLookup = (key: string) => string | undefined;

const VALUE_END = 'expected `,` or the end';
const BLANK = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const KEY = /[A-Za-z0-9_./-]/;

class SelectorFault extends Error {
  constructor(
    readonly at: number,
    readonly why: string,
  ) {
    super(why);
  }
}

/** Reads a selector. Source: SMG RL contract 3.2. @param text trimmed; an empty one is refused. */
export function parseSelector(text: string): ParsedSelector {
  try {
    return { ok: true, selector: new Scanner(text).selector() };
  } catch (fault) {
    if (!(fault instanceof SelectorFault)) throw fault;
    const offset = Buffer.byteLength(text.slice(0, fault.at));
    return { ok: false, offset, why: fault.why };
  }
}

/** Whether every term holds; `!=` and `notin` hold for a key that is missing. */
export function matchSelector(selector: Selector, lookup: SelectorLookup): boolean {
  return selector.every((term) => {
    const value = lookup(term.key);
    switch (term.operator) {
      case '=':
        return value === term.value;
      case '!=':
        return value !== term.value;
      case 'in':
        return value !== undefined && term.values.includes(value);
      case 'notin':
        return value === undefined || !term.values.includes(value);
    }
  });
}

/** A text that parses to the same selector. */
export function printSelector(selector: Selector): string {
  return selector
    .map((term) =>
      'value' in term
        ? `${term.key}${term.operator}${quote(term.value)}`
        : `${term.key} ${term.operator} (${term.values.map(quote).join(',')})`,
    )
    .join(',');
}

function quote(value: string): string {
  // A leading `=` would read as the `==` that is no operator.
  if (value !== '' && !value.startsWith('=') && !/[,()"]/.test(value) && !BLANK.test(value))
    return value;
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}

class Scanner {
  private at = 0;

  constructor(private readonly text: string) {}

  selector(): Selector {
    const terms: SelectorTerm[] = [];
    for (;;) {
      terms.push(this.term());
      this.blanks();
      if (this.at === this.text.length) return terms;
      if (!this.take(',')) throw this.fault(VALUE_END);
    }
  }

  private term(): SelectorTerm {
    this.blanks();
    const start = this.at;
    while (KEY.test(this.text.charAt(this.at))) this.at++;
    const key = this.text.slice(start, this.at);
    if (key === '') throw this.fault('expected a key');
    this.blanks();
    if (this.take('!=')) return { key, operator: '!=', value: this.single() };
    if (this.take('=')) {
      if (this.text.charAt(this.at) === '=') throw this.fault('expected a value, `=` compares');
      return { key, operator: '=', value: this.single() };
    }
    if (this.takeWord('notin')) return { key, operator: 'notin', values: this.list() };
    if (this.takeWord('in')) return { key, operator: 'in', values: this.list() };
    throw this.fault('expected `=`, `!=`, `in` or `notin`');
  }

  private single(): string {
    this.blanks();
    return this.value();
  }

  private list(): readonly string[] {
    this.blanks();
    if (!this.take('(')) throw this.fault('expected `(`');
    const values: string[] = [];
    for (;;) {
      this.blanks();
      values.push(this.value());
      this.blanks();
      if (this.take(')')) return values;
      if (!this.take(',')) throw this.fault('expected `,` or `)`');
    }
  }

  private value(): string {
    if (this.take('"')) return this.quoted();
    const start = this.at;
    while (this.at < this.text.length && !this.endsBareValue()) this.at++;
    if (this.at === start) throw this.fault('expected a value');
    return this.text.slice(start, this.at);
  }

  private endsBareValue(): boolean {
    const char = this.text.charAt(this.at);
    return BLANK.test(char) || char === ',' || char === '(' || char === ')' || char === '"';
  }

  private quoted(): string {
    let value = '';
    while (this.at < this.text.length) {
      const char = this.text.charAt(this.at++);
      if (char === '"') return value;
      if (char !== '\\') {
        value += char;
        continue;
      }
      const escaped = this.text.codePointAt(this.at);
      if (escaped === undefined) break;
      const sign = String.fromCodePoint(escaped);
      this.at += sign.length;
      if (sign !== '"' && sign !== '\\') throw this.fault('expected `\\"` or `\\\\`');
      value += sign;
    }
    throw this.fault('unterminated quote');
  }

  private blanks(): void {
    while (this.at < this.text.length && BLANK.test(this.text.charAt(this.at))) this.at++;
  }

  private take(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  /** A word is an operator only when a blank or `(` follows. */
  private takeWord(word: string): boolean {
    const after = this.text.charAt(this.at + word.length);
    if (after !== '(' && !BLANK.test(after)) return false;
    return this.take(word);
  }

  private fault(why: string): SelectorFault {
    return new SelectorFault(this.at, why);
  }
}
