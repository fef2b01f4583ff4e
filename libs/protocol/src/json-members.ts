/** JSON type of a member. */
export type JsonKind = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** A member of a JSON object, as it was written. */
export interface JsonMember {
  readonly kind: JsonKind;
  /** Its text: `7.0` stays `7.0`, 64-bit integers keep their digits, strings keep their quotes. */
  readonly lexeme: string;
  /** The name occurs more than once; this is the last occurrence. */
  readonly repeated: boolean;
}

/** Nesting beyond this is refused, as engines do. */
const MAX_DEPTH = 128;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Reads single members of a JSON object out of bytes, without building the rest: a refit body may be
 * hundreds of megabytes of tensors around one short version.
 *
 * The structure is checked to the end; what is inside strings nobody asked for is not.
 * @returns undefined when the bytes are not one JSON object.
 */
export function readJsonMembers(
  bytes: Buffer,
  names: readonly string[],
): ReadonlyMap<string, JsonMember> | undefined {
  const scanner = new MemberScanner(bytes, names);
  return scanner.scan() ? scanner.found : undefined;
}

class MemberScanner {
  readonly found = new Map<string, JsonMember>();
  private at = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly names: readonly string[],
  ) {}

  scan(): boolean {
    this.skipBlanks();
    if (!this.take(OPEN_OBJECT)) return false;
    this.skipBlanks();
    if (!this.take(CLOSE_OBJECT)) {
      do {
        if (!this.member()) return false;
        this.skipBlanks();
      } while (this.take(COMMA));
      if (!this.take(CLOSE_OBJECT)) return false;
    }
    this.skipBlanks();
    return this.at === this.bytes.length;
  }

  private member(): boolean {
    const name = this.key();
    if (name === undefined) return false;
    this.skipBlanks();
    const start = this.at;
    const kind = this.value();
    if (kind === undefined) return false;
    if (this.names.includes(name)) {
      const lexeme = this.bytes.toString('utf8', start, this.at);
      if (kind === 'string' && parsedString(lexeme) === undefined) return false;
      this.found.set(name, { kind, lexeme, repeated: this.found.has(name) });
    }
    return true;
  }

  /** A quoted name and its colon. */
  private key(): string | undefined {
    this.skipBlanks();
    const start = this.at;
    if (!this.string()) return undefined;
    const name = parsedString(this.bytes.toString('utf8', start, this.at));
    this.skipBlanks();
    return this.take(COLON) ? name : undefined;
  }

  private value(): JsonKind | undefined {
    switch (this.bytes[this.at]) {
      case QUOTE:
        return this.string() ? 'string' : undefined;
      case OPEN_OBJECT:
        return this.nested() ? 'object' : undefined;
      case OPEN_ARRAY:
        return this.nested() ? 'array' : undefined;
      default:
        return this.bare();
    }
  }

  private string(): boolean {
    if (!this.take(QUOTE)) return false;
    for (;;) {
      const quote = this.bytes.indexOf(QUOTE, this.at);
      if (quote < 0) return false;
      let escapes = 0;
      while (this.bytes[quote - 1 - escapes] === BACKSLASH) escapes++;
      this.at = quote + 1;
      if (escapes % 2 === 0) return true;
    }
  }

  /** A number or a word. */
  private bare(): JsonKind | undefined {
    const start = this.at;
    while (this.at < this.bytes.length && isBare(this.bytes[this.at] ?? 0)) this.at++;
    const text = this.bytes.toString('latin1', start, this.at);
    if (text === 'null') return 'null';
    if (text === 'true' || text === 'false') return 'boolean';
    return NUMBER.test(text) ? 'number' : undefined;
  }

  /** An array or object with everything in it, by a stack of the closers that are due. */
  private nested(): boolean {
    const due: number[] = [];
    for (;;) {
      // Here a value is due.
      const opener = this.bytes[this.at];
      if (opener === OPEN_ARRAY || opener === OPEN_OBJECT) {
        this.at++;
        due.push(opener === OPEN_ARRAY ? CLOSE_ARRAY : CLOSE_OBJECT);
        if (due.length >= MAX_DEPTH) return false;
        this.skipBlanks();
        if (this.bytes[this.at] !== due.at(-1)) {
          if (!this.beforeValue(due)) return false;
          continue;
        }
      } else if (this.value() === undefined) {
        return false;
      }
      this.closeAll(due);
      if (due.length === 0) return true;
      if (!this.take(COMMA) || !this.beforeValue(due)) return false;
    }
  }

  /** Closes every array and object that ends here. */
  private closeAll(due: number[]): void {
    for (;;) {
      const closer = due.at(-1);
      if (closer === undefined) return;
      this.skipBlanks();
      if (!this.take(closer)) return;
      due.pop();
    }
  }

  /** Up to the next value: in an object that is past a name. */
  private beforeValue(due: readonly number[]): boolean {
    if (due.at(-1) === CLOSE_OBJECT && this.key() === undefined) return false;
    this.skipBlanks();
    return true;
  }

  private skipBlanks(): void {
    for (;;) {
      const byte = this.bytes[this.at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.at++;
    }
  }

  private take(byte: number): boolean {
    if (this.bytes[this.at] !== byte) return false;
    this.at++;
    return true;
  }
}

/** What numbers and words are made of; anything else ends them. */
function isBare(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e ||
    byte === 0x45
  );
}

function parsedString(lexeme: string): string | undefined {
  try {
    const value: unknown = JSON.parse(lexeme);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
