import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type YAMLMap } from 'yaml';

const MAX_BYTES = 1024 * 1024;
export const U32_MAX = 0xffff_ffff;
const DECIMAL = /^\d+$/;

/** What is wrong with a file, and where. */
export class StrictYamlError extends Error {
  override readonly name = 'StrictYamlError';
}

/** Members of a map by name. */
export type Members = ReadonlyMap<string, Node>;

/**
 * A file of settings that is read strictly: what is not understood is refused, so that no setting is
 * missing because of a typing error. Every method throws {@link StrictYamlError}:
 * `name:line:column: what is wrong`.
 */
export class StrictYaml {
  private readonly lines = new LineCounter();
  readonly root: Node;

  /** @param file its name, for messages. */
  constructor(
    text: string,
    private readonly file: string,
  ) {
    if (Buffer.byteLength(text) > MAX_BYTES) {
      throw new StrictYamlError(`${file}: larger than ${MAX_BYTES} bytes`);
    }
    this.root = this.parse(text);
  }

  /** Members of a map; a name out of `known` is an error. */
  members(node: Node, what: string, known: readonly string[]): Members {
    const members = new Map<string, Node>();
    for (const [key, name, value] of this.pairs(node, what)) {
      if (!known.includes(name)) {
        this.fail(key, `unknown key ${quote(name)}; ${what} may have ${known.join(', ')}`);
      }
      if (value === null) this.fail(key, `${name} has no value`);
      members.set(name, value);
    }
    return members;
  }

  /** Members of a map whose names are data. */
  entries(node: Node, what: string, most: number): readonly (readonly [key: Node, value: Node])[] {
    const entries: [Node, Node][] = [];
    for (const [key, name, value] of this.pairs(node, what)) {
      if (value === null) this.fail(key, `${quote(name)} has no value`);
      entries.push([key, value]);
    }
    if (entries.length > most) this.fail(node, `${what} has more than ${most} entries`);
    return entries;
  }

  items(node: Node, name: string, most: number): Node[] {
    if (!isSeq(node)) this.fail(node, `${name} must be a list`);
    if (node.items.length > most) this.fail(node, `${name} has more than ${most} entries`);
    return node.items as Node[];
  }

  needed(members: Members, owner: Node, name: string): Node {
    return members.get(name) ?? this.fail(owner, `${name} is missing`);
  }

  string(node: Node, name: string): string {
    if (isScalar(node) && typeof node.value === 'string') return node.value;
    return this.fail(node, `${name} must be a string; put it into quotes`);
  }

  u32(node: Node, name: string, least = 0): number {
    const source = isScalar(node) && typeof node.value === 'number' ? (node.source ?? '') : '';
    const value = Number(source);
    if (!DECIMAL.test(source) || value < least || value > U32_MAX) {
      this.fail(node, `${name} must be a whole number from ${least} to ${U32_MAX}`);
    }
    return value;
  }

  /** A number from 0 to 1. */
  share(node: Node, name: string): number {
    if (isScalar(node) && typeof node.value === 'number' && node.value >= 0 && node.value <= 1) {
      return node.value;
    }
    return this.fail(node, `${name} must be a number from 0 to 1`);
  }

  flag(node: Node, name: string): boolean {
    if (isScalar(node) && typeof node.value === 'boolean') return node.value;
    return this.fail(node, `${name} must be true or false`);
  }

  fail(node: Node, message: string): never {
    return this.failAt(node.range?.[0] ?? 0, message);
  }

  private parse(text: string): Node {
    const document = parseDocument(text, {
      lineCounter: this.lines,
      prettyErrors: false,
      uniqueKeys: true,
      strict: true,
    });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) {
      const isRepeat = problem.code === 'DUPLICATE_KEY';
      this.failAt(problem.pos[0], isRepeat ? 'the key is there already' : problem.message);
    }
    if (document.contents === null) throw new StrictYamlError(`${this.file}: the file is empty`);
    return document.contents;
  }

  private *pairs(
    node: Node,
    what: string,
  ): Iterable<readonly [key: Node, name: string, value: Node | null]> {
    if (!isMap(node)) this.fail(node, `${what} must be a map`);
    for (const { key, value } of (node as YAMLMap<Node, Node | null>).items) {
      yield [key, isScalar(key) ? String(key.value) : '', value];
    }
  }

  private failAt(offset: number, message: string): never {
    const { line, col } = this.lines.linePos(offset);
    throw new StrictYamlError(`${this.file}:${line}:${col}: ${message}`);
  }
}

/** Text of a file inside a message: short, and of one line. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
