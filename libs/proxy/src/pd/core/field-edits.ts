import { endOfString, endOfValue, keyOf, skipSpace } from '../../core/json-splice';

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/** A value in the bytes around it: offsets of its first byte and behind its last. */
export interface ValueSpan {
  readonly from: number;
  readonly to: number;
}

interface Member extends ValueSpan {
  readonly name: string;
  /** Offset of the quote its name starts with. */
  readonly at: number;
}

/** JSON text to write into a field; undefined takes the field out. */
export type FieldEdits = ReadonlyMap<string, string | undefined>;

/**
 * Edits top-level fields of a JSON object in its bytes. Every occurrence of a repeated field is
 * written, or taken out; a missing one is added first. All other bytes stay as they are.
 * @param body a JSON object that JSON.parse accepts.
 */
export function editFields(body: Buffer, edits: FieldEdits): Buffer {
  const start = body.indexOf(OPEN_BRACE) + 1;
  const members = membersOf(body, start - 1);
  const isRemoved = ({ name }: Member): boolean => edits.has(name) && edits.get(name) === undefined;
  const lastKept = members.findLastIndex((member) => !isRemoved(member));
  const parts: Buffer[] = [body.subarray(0, start), added(edits, members, lastKept >= 0)];
  let at = start;
  for (const [index, member] of members.entries()) {
    if (!edits.has(member.name)) continue;
    const value = edits.get(member.name);
    if (value !== undefined) {
      parts.push(body.subarray(at, member.from), Buffer.from(value));
      at = member.to;
    } else if (index < lastKept) {
      // With the comma behind it.
      parts.push(body.subarray(at, member.at));
      at = members[index + 1]?.at ?? member.to;
    } else {
      // The last ones: with the comma before them.
      parts.push(body.subarray(at, Math.max(at, members[lastKept]?.to ?? member.at)));
      at = members.at(-1)?.to ?? member.to;
      break;
    }
  }
  parts.push(body.subarray(at));
  return Buffer.concat(parts);
}

function added(edits: FieldEdits, members: readonly Member[], isFollowed: boolean): Buffer {
  const known = new Set(members.map(({ name }) => name));
  const texts: string[] = [];
  for (const [name, value] of edits) {
    if (value !== undefined && !known.has(name)) texts.push(`${JSON.stringify(name)}:${value}`);
  }
  const text = texts.join(',');
  return Buffer.from(text !== '' && isFollowed ? `${text},` : text);
}

/** @param open offset of the object's brace. */
function membersOf(body: Buffer, open: number): Member[] {
  const members: Member[] = [];
  let at = skipSpace(body, open + 1);
  while (at < body.length && body[at] !== CLOSE_BRACE) {
    const keyEnd = endOfString(body, at);
    const from = skipSpace(body, skipSpace(body, keyEnd) + 1);
    const to = endOfValue(body, from);
    members.push({ name: keyOf(body, at, keyEnd), at, from, to });
    at = skipSpace(body, to);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
  }
  return members;
}

/**
 * Where the value of a member stands; the last one of that name counts, as for JSON.parse.
 * @param open offset of the object's brace, in JSON that parses.
 */
export function valueOf(body: Buffer, open: number, name: string): ValueSpan | undefined {
  return membersOf(body, open).findLast((member) => member.name === name);
}

/** Where the items of an array stand. @param open offset of its bracket, in JSON that parses. */
export function itemsOf(body: Buffer, open: number): ValueSpan[] {
  const items: ValueSpan[] = [];
  let at = skipSpace(body, open + 1);
  while (at < body.length && body[at] !== CLOSE_BRACKET) {
    const to = endOfValue(body, at);
    items.push({ from: at, to });
    at = skipSpace(body, to);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
  }
  return items;
}
