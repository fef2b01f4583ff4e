/** What the head of a part says. */
export interface PartHead {
  readonly name: string;
  readonly hasFileName: boolean;
  /** Bytes from the start of the head to the end of its Content-Disposition. */
  readonly dispositionEnd: number;
}

export type PartHeadResult =
  { readonly ok: true; readonly head: PartHead } | { readonly ok: false; readonly problem: string };

const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$/s;
const PARAMETER =
  /[ \t]*;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[!#$%&'*+.^_`|~0-9A-Za-z-]+)/gy;
/** Codings that leave the bytes as they are; others are long deprecated, and readers differ about them. */
const PLAIN_CODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary']);

const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

/** Reads the head of a part. @param text Latin-1, without the blank line. */
export function readPartHead(text: string): PartHeadResult {
  let head: PartHead | undefined;
  let at = 0;
  for (const line of text.split('\r\n')) {
    const field = CONTROL.test(line) ? null : FIELD.exec(line);
    if (field === null) return bad('a part has a malformed header');
    const name = field[1]?.toLowerCase();
    const value = field[2] ?? '';
    const end = at + line.length;
    at = end + 2;
    if (name === 'content-transfer-encoding') {
      if (!PLAIN_CODINGS.has(value.trim().toLowerCase())) return bad('a part is encoded');
    } else if (name === 'content-disposition') {
      if (head !== undefined) return bad('a part has two dispositions');
      head = readDisposition(value, end);
      if (head === undefined) return bad('a part is not named form data');
    }
  }
  return head === undefined ? bad('a part is not named form data') : { ok: true, head };
}

function readDisposition(value: string, dispositionEnd: number): PartHead | undefined {
  if (!/^form-data(?=[ \t]*;)/i.test(value)) return undefined;
  const found = new Map<string, string>();
  let end = 'form-data'.length;
  PARAMETER.lastIndex = end;
  for (let match = PARAMETER.exec(value); match !== null; match = PARAMETER.exec(value)) {
    const name = (match[1] ?? '').toLowerCase();
    if (found.has(name)) return undefined;
    found.set(name, unquoted(match[2] ?? ''));
    end = PARAMETER.lastIndex;
  }
  const name = found.get('name');
  if (name === undefined || value.slice(end).trim() !== '') return undefined;
  const hasFileName = found.has('filename') || found.has('filename*');
  return { name: Buffer.from(name, 'latin1').toString('utf8'), hasFileName, dispositionEnd };
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text;
}

const bad = (problem: string): PartHeadResult => ({ ok: false, problem });

const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;

/** The boundary a Content-Type names; undefined when it is no form, or the boundary no legal one. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const type = /^\s*multipart\/form-data(?=\s*;)/i.exec(contentType ?? '');
  if (contentType === undefined || type === null) return undefined;
  let found: string | undefined;
  let end = type[0].length;
  PARAMETER.lastIndex = end;
  const parameter = PARAMETER;
  for (let it = parameter.exec(contentType); it !== null; it = parameter.exec(contentType)) {
    end = parameter.lastIndex;
    if (it[1]?.toLowerCase() !== 'boundary') continue;
    if (found !== undefined) return undefined;
    found = unquoted(it[2] ?? '');
  }
  if (found === undefined || contentType.slice(end).trim() !== '') return undefined;
  return BOUNDARY.test(found) ? found : undefined;
}
