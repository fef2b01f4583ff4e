const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Levels looked into; a fault further down is reported at this depth. */
const MAX_DEPTH = 500;

/**
 * Where a text stops being JSON, as a line and a column from 1; its end when it is JSON.
 * The platform's own message quotes the text around the fault, which in a config file may be a key.
 */
export function jsonFault(text: string): { line: number; column: number } {
  const scanner = new Scanner(text);
  scanner.document();
  const lines = text.slice(0, scanner.offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

/** Each method moves past what it names, or answers false with `offset` at the fault. */
class Scanner {
  offset = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  document(): void {
    if (this.value()) this.match(SPACE);
  }

  private value(): boolean {
    this.match(SPACE);
    if (this.depth >= MAX_DEPTH) return false;
    if (this.word('{')) return this.members('}', () => this.member());
    if (this.word('[')) return this.members(']', () => this.value());
    return this.match(STRING) || this.match(SCALAR);
  }

  private member(): boolean {
    this.match(SPACE);
    return this.match(STRING) && this.word(':') && this.value();
  }

  private members(close: string, one: () => boolean): boolean {
    if (this.word(close)) return true;
    this.depth++;
    do {
      if (!one()) return false;
    } while (this.word(','));
    this.depth--;
    return this.word(close);
  }

  private word(character: string): boolean {
    this.match(SPACE);
    if (this.text[this.offset] !== character) return false;
    this.offset++;
    return true;
  }

  private match(pattern: RegExp): boolean {
    pattern.lastIndex = this.offset;
    if (!pattern.test(this.text)) return false;
    this.offset = pattern.lastIndex;
    return true;
  }
}
