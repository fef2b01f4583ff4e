import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type YAMLMap } from 'yaml';
import { canonicalTenant } from './tenant-key';
import { TenantLimits, type Limit, type ModelMatcher, type TenantPolicy } from './tenant-limits';

const MAX_BYTES = 1024 * 1024;
const MAX_TENANTS = 10_000;
/** Every rule of a policy is looked at for every request of the tenant. */
const MAX_RULES = 64;
const U32_MAX = 0xffff_ffff;
const RULE_ID = /^[A-Za-z0-9._-]+$/;
const DECIMAL = /^\d+$/;

const BUDGETS = ['tokens_per_minute', 'requests_per_minute'] as const;
const POLICY = [...BUDGETS, 'model_rules'] as const;

/** What is wrong with a file of limits, and where. */
export class TenantLimitsError extends Error {
  override readonly name = 'TenantLimitsError';
}

/**
 * Reads a file of limits, strictly: what is not understood is refused, so that no limit is missing
 * because of a typing error.
 * @param name of the file, for messages.
 * @throws TenantLimitsError `name:line:column: what is wrong`.
 */
export function readTenantLimits(text: string, name: string): TenantLimits {
  return new LimitsReader(text, name).read();
}

type Members = ReadonlyMap<string, Node>;

class LimitsReader {
  private readonly lines = new LineCounter();

  constructor(
    private readonly text: string,
    private readonly file: string,
  ) {}

  read(): TenantLimits {
    if (Buffer.byteLength(this.text) > MAX_BYTES) {
      throw new TenantLimitsError(`${this.file}: larger than ${MAX_BYTES} bytes`);
    }
    const root = this.parse();
    const members = this.members(root, 'the file', ['default_policy', 'tenants']);
    const fallback = members.get('default_policy');
    const tenants = members.get('tenants');
    if (fallback === undefined && tenants === undefined) {
      this.fail(root, 'neither default_policy nor tenants');
    }
    return new TenantLimits(
      fallback === undefined
        ? undefined
        : this.policy(this.members(fallback, 'default_policy', POLICY)),
      tenants === undefined ? new Map() : this.tenants(tenants),
    );
  }

  private parse(): Node {
    const document = parseDocument(this.text, {
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
    if (document.contents === null) throw new TenantLimitsError(`${this.file}: the file is empty`);
    return document.contents;
  }

  private tenants(node: Node): Map<string, TenantPolicy> {
    const found = new Map<string, TenantPolicy>();
    for (const item of this.items(node, 'tenants', MAX_TENANTS)) {
      const members = this.members(item, 'a tenant', ['tenant_key', ...POLICY]);
      const key = this.needed(members, item, 'tenant_key');
      const text = this.string(key, 'tenant_key');
      const tenant = canonicalTenant(text);
      if (tenant === undefined) {
        this.fail(
          key,
          'tenant_key must be auth:<id>, header:<value>, ip:<address> or anonymous, as a request can have it',
        );
      }
      if (found.has(tenant)) this.fail(key, `the tenant ${quote(tenant)} is there already`);
      found.set(tenant, this.policy(members));
    }
    return found;
  }

  private policy(members: Members): TenantPolicy {
    const limits = this.budgets(members, undefined, undefined);
    const rules = members.get('model_rules');
    if (rules !== undefined) limits.push(...this.rules(rules));
    return Object.freeze({ limits: Object.freeze(limits) });
  }

  private rules(node: Node): Limit[] {
    const limits: Limit[] = [];
    const ids = new Set<string>();
    for (const item of this.items(node, 'model_rules', MAX_RULES)) {
      const members = this.members(item, 'a model rule', ['rule_id', 'matcher', ...BUDGETS]);
      const idNode = this.needed(members, item, 'rule_id');
      const id = this.string(idNode, 'rule_id');
      if (!RULE_ID.test(id)) this.fail(idNode, 'rule_id must consist of A-Z a-z 0-9 . _ -');
      if (ids.has(id)) this.fail(idNode, `the rule_id ${quote(id)} is there already`);
      ids.add(id);
      const matcher = this.matcher(this.needed(members, item, 'matcher'));
      const budgets = this.budgets(members, id, matcher);
      if (budgets.length === 0) this.fail(item, `a model rule needs ${BUDGETS.join(' or ')}`);
      limits.push(...budgets);
    }
    return limits;
  }

  private matcher(node: Node): ModelMatcher {
    const members = this.members(node, 'matcher', ['type', 'value']);
    const typeNode = this.needed(members, node, 'type');
    const type = this.string(typeNode, 'type');
    if (type !== 'exact' && type !== 'prefix') this.fail(typeNode, 'type must be exact or prefix');
    const valueNode = this.needed(members, node, 'value');
    const value = this.string(valueNode, 'value');
    if (value === '') this.fail(valueNode, 'value is empty');
    return Object.freeze({ type, value });
  }

  private budgets(
    members: Members,
    ruleId: string | undefined,
    matcher: ModelMatcher | undefined,
  ): Limit[] {
    const limits: Limit[] = [];
    for (const name of BUDGETS) {
      const node = members.get(name);
      if (node === undefined) continue;
      const unit = name === 'tokens_per_minute' ? 'tokens' : 'requests';
      limits.push(Object.freeze({ unit, perMinute: this.u32(node, name), ruleId, matcher }));
    }
    return limits;
  }

  private u32(node: Node, name: string): number {
    const source = isScalar(node) && typeof node.value === 'number' ? (node.source ?? '') : '';
    const value = Number(source);
    if (!DECIMAL.test(source) || value > U32_MAX) {
      this.fail(node, `${name} must be a whole number from 0 to ${U32_MAX}`);
    }
    return value;
  }

  private string(node: Node, name: string): string {
    if (isScalar(node) && typeof node.value === 'string') return node.value;
    return this.fail(node, `${name} must be a string; put it into quotes`);
  }

  private items(node: Node, name: string, most: number): Node[] {
    if (!isSeq(node)) this.fail(node, `${name} must be a list`);
    if (node.items.length > most) this.fail(node, `${name} has more than ${most} entries`);
    return node.items as Node[];
  }

  /** Members of a map by name; a name out of `known` is an error. */
  private members(node: Node, what: string, known: readonly string[]): Members {
    if (!isMap(node)) this.fail(node, `${what} must be a map`);
    const members = new Map<string, Node>();
    for (const { key, value } of (node as YAMLMap<Node, Node | null>).items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (!known.includes(name)) {
        this.fail(key, `unknown key ${quote(name)}; ${what} may have ${known.join(', ')}`);
      }
      if (value === null) this.fail(key, `${name} has no value`);
      members.set(name, value);
    }
    return members;
  }

  private needed(members: Members, owner: Node, name: string): Node {
    return members.get(name) ?? this.fail(owner, `${name} is missing`);
  }

  private fail(node: Node, message: string): never {
    return this.failAt(node.range?.[0] ?? 0, message);
  }

  private failAt(offset: number, message: string): never {
    const { line, col } = this.lines.linePos(offset);
    throw new TenantLimitsError(`${this.file}:${line}:${col}: ${message}`);
  }
}

/** Text of the file inside a message: short, and of one line. */
function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
