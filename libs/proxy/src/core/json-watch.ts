const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Types whose values show by their brackets whether they are whole; lines of JSON among them. */
const JSON_TYPE = /^\s*application\/(?:(?:[\w.-]+\+)?json|x-ndjson|jsonl)\b/i;

/**
 * Watches JSON go by without holding it. An answer without a length or chunks ends where its
 * connection does, cut or not: the only trace of a cut is a value that was begun and not ended.
 */
export class JsonWatch {
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  private isEmpty = true;

  static covers(contentType: string): boolean {
    return JSON_TYPE.test(contentType);
  }

  see(chunk: Buffer): void {
    if (chunk.length > 0) this.isEmpty = false;
    for (const byte of chunk) {
      if (this.isInString) this.seeInString(byte);
      else if (byte === QUOTE) this.isInString = true;
      // `[` and `{`, then `]` and `}`: bit 5 is all they differ in.
      else if ((byte | 0x20) === 0x7b) this.depth += 1;
      else if ((byte | 0x20) === 0x7d) this.depth -= 1;
    }
  }

  /** Something came, and all that was opened is closed. */
  get isComplete(): boolean {
    return !this.isEmpty && this.depth <= 0 && !this.isInString;
  }

  private seeInString(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.isInString = false;
  }
}
