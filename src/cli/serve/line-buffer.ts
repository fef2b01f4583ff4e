/** Longest line kept together; a longer one is cut into several. In characters. */
const MAX_LINE = 16_384;

/** Cuts a stream of text into lines. Holds at most one line. */
export class LineBuffer {
  private rest = '';

  /** @returns the lines that are complete now, without their ends; empty ones are dropped. */
  push(text: string): readonly string[] {
    // Progress bars end a line with a carriage return alone.
    const lines = (this.rest + text).split(/[\r\n]+/);
    this.rest = lines.pop() ?? '';
    const complete = lines.flatMap(cut);
    while (this.rest.length >= MAX_LINE) {
      complete.push(this.rest.slice(0, MAX_LINE));
      this.rest = this.rest.slice(MAX_LINE);
    }
    return complete;
  }

  /** The line that was begun and never ended. */
  end(): readonly string[] {
    const { rest } = this;
    this.rest = '';
    return cut(rest);
  }
}

function cut(line: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < line.length; at += MAX_LINE) parts.push(line.slice(at, at + MAX_LINE));
  return parts;
}
