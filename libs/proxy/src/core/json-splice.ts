const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/** Where a value stands: offsets of its first byte and behind its last. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Sets top-level fields of a JSON object in its bytes. Every occurrence of a repeated field is
 * replaced, so that no reader can pick another one; a missing field is added first. All other bytes,
 * numbers beyond 2^53 among them, stay as they are.
 * @param body a JSON object that JSON.parse accepts.
 * @param fields values to set.
 */
export function setTopLevelFields(
  body: Buffer,
  fields: ReadonlyMap<string, string | number>,
): Buffer {
  const found = new Map<string, Span[]>();
  const start = scanTopLevel(body, fields, found);
  const edits: { span: Span; text: string }[] = [];
  let added = '';
  for (const [name, value] of fields) {
    const text = JSON.stringify(value);
    const spans = found.get(name);
    if (spans === undefined) added += `${JSON.stringify(name)}:${text},`;
    else for (const span of spans) edits.push({ span, text });
  }
  if (added !== '') {
    // An empty object takes no comma after its only fields.
    const isEmpty = body[skipSpace(body, start)] === CLOSE_BRACE;
    edits.push({
      span: { from: start, to: start },
      text: isEmpty ? added.slice(0, -1) : added,
    });
  }
  return apply(body, edits);
}

/** Where the values of a top-level field stand, one for each time it occurs. */
export function topLevelSpans(body: Buffer, field: string): readonly Span[] {
  const found = new Map<string, Span[]>();
  scanTopLevel(body, new Map([[field, undefined]]), found);
  return found.get(field) ?? [];
}

/** Where the items of an array stand. @param from offset of its bracket, in JSON that parses. */
export function itemSpans(body: Buffer, from: number): readonly Span[] {
  const spans: Span[] = [];
  let at = skipSpace(body, skipSpace(body, from) + 1);
  while (at < body.length && body[at] !== CLOSE_BRACKET) {
    const to = endOfValue(body, at);
    spans.push({ from: at, to });
    at = skipSpace(body, to);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
  }
  return spans;
}

function apply(body: Buffer, edits: { span: Span; text: string }[]): Buffer {
  edits.sort((a, b) => a.span.from - b.span.from);
  const parts: Buffer[] = [];
  let at = 0;
  for (const { span, text } of edits) {
    parts.push(body.subarray(at, span.from), Buffer.from(text));
    at = span.to;
  }
  parts.push(body.subarray(at));
  return Buffer.concat(parts);
}

/** Notes the value spans of the wanted fields. @returns the offset after the opening brace. */
function scanTopLevel(
  body: Buffer,
  wanted: ReadonlyMap<string, unknown>,
  found: Map<string, Span[]>,
): number {
  const start = body.indexOf(OPEN_BRACE) + 1;
  let at = skipSpace(body, start);
  while (at < body.length && body[at] !== CLOSE_BRACE) {
    const keyEnd = endOfString(body, at);
    const name = keyOf(body, at, keyEnd);
    const from = skipSpace(body, skipSpace(body, keyEnd) + 1);
    const to = endOfValue(body, from);
    if (wanted.has(name)) {
      const spans = found.get(name);
      if (spans === undefined) found.set(name, [{ from, to }]);
      else spans.push({ from, to });
    }
    at = skipSpace(body, to);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
  }
  return start;
}

export function keyOf(body: Buffer, from: number, to: number): string {
  const raw = body.toString('utf8', from, to);
  // A key may be spelled with escapes: "\u006dodel" is model.
  return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
}

export function skipSpace(body: Buffer, from: number): number {
  let at = from;
  while (at < body.length && (body[at] ?? 0) <= 0x20) at += 1;
  return at;
}

/** @param from offset of the opening quote. @returns the offset after the closing one. */
export function endOfString(body: Buffer, from: number): number {
  let at = from + 1;
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

export function endOfValue(body: Buffer, from: number): number {
  const first = body[from];
  if (first === QUOTE) return endOfString(body, from);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNest(body, from);
  let at = from;
  while (at < body.length && !endsScalar(body[at] ?? 0)) at += 1;
  return at;
}

function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20;
}

function endOfNest(body: Buffer, from: number): number {
  let depth = 0;
  let at = from;
  while (at < body.length) {
    const byte = body[at] ?? 0;
    if (byte === QUOTE) {
      at = endOfString(body, at);
      continue;
    }
    at += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return at;
}
