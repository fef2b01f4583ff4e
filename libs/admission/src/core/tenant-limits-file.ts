import { type Node } from 'yaml';
import { type Members, quote, StrictYaml } from './strict-yaml';
import { canonicalTenant, TENANT_KEY_FORMS } from './tenant-key';
import { TenantLimits, type Limit, type ModelMatcher, type TenantPolicy } from './tenant-limits';

const MAX_TENANTS = 10_000;
/** Every rule of a policy is looked at for every request of the tenant. */
const MAX_RULES = 64;
const RULE_ID = /^[A-Za-z0-9._-]+$/;

const BUDGETS = ['tokens_per_minute', 'requests_per_minute'] as const;
const POLICY = [...BUDGETS, 'model_rules'] as const;

/**
 * Reads a file of limits.
 * @param name of the file, for messages.
 * @throws StrictYamlError `name:line:column: what is wrong`.
 */
export function readTenantLimits(text: string, name: string): TenantLimits {
  return new LimitsReader(new StrictYaml(text, name)).read();
}

class LimitsReader {
  constructor(private readonly yaml: StrictYaml) {}

  read(): TenantLimits {
    const yaml: StrictYaml = this.yaml;
    const members = yaml.members(yaml.root, 'the file', ['default_policy', 'tenants']);
    const fallback = members.get('default_policy');
    const tenants = members.get('tenants');
    if (fallback === undefined && tenants === undefined) {
      yaml.fail(yaml.root, 'neither default_policy nor tenants');
    }
    return new TenantLimits(
      fallback === undefined
        ? undefined
        : this.policy(yaml.members(fallback, 'default_policy', POLICY)),
      tenants === undefined ? new Map() : this.tenants(tenants),
    );
  }

  private tenants(node: Node): Map<string, TenantPolicy> {
    const yaml: StrictYaml = this.yaml;
    const found = new Map<string, TenantPolicy>();
    for (const item of yaml.items(node, 'tenants', MAX_TENANTS)) {
      const members = yaml.members(item, 'a tenant', ['tenant_key', ...POLICY]);
      const key = yaml.needed(members, item, 'tenant_key');
      const tenant = canonicalTenant(yaml.string(key, 'tenant_key'));
      if (tenant === undefined) yaml.fail(key, `tenant_key must be ${TENANT_KEY_FORMS}`);
      if (found.has(tenant)) yaml.fail(key, `the tenant ${quote(tenant)} is there already`);
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
    const yaml: StrictYaml = this.yaml;
    const limits: Limit[] = [];
    const ids = new Set<string>();
    for (const item of yaml.items(node, 'model_rules', MAX_RULES)) {
      const members = yaml.members(item, 'a model rule', ['rule_id', 'matcher', ...BUDGETS]);
      const idNode = yaml.needed(members, item, 'rule_id');
      const id = yaml.string(idNode, 'rule_id');
      if (!RULE_ID.test(id)) yaml.fail(idNode, 'rule_id must consist of A-Z a-z 0-9 . _ -');
      if (ids.has(id)) yaml.fail(idNode, `the rule_id ${quote(id)} is there already`);
      ids.add(id);
      const matcher = this.matcher(yaml.needed(members, item, 'matcher'));
      const budgets = this.budgets(members, id, matcher);
      if (budgets.length === 0) yaml.fail(item, `a model rule needs ${BUDGETS.join(' or ')}`);
      limits.push(...budgets);
    }
    return limits;
  }

  private matcher(node: Node): ModelMatcher {
    const yaml: StrictYaml = this.yaml;
    const members = yaml.members(node, 'matcher', ['type', 'value']);
    const typeNode = yaml.needed(members, node, 'type');
    const type = yaml.string(typeNode, 'type');
    if (type !== 'exact' && type !== 'prefix') yaml.fail(typeNode, 'type must be exact or prefix');
    const valueNode = yaml.needed(members, node, 'value');
    const value = yaml.string(valueNode, 'value');
    if (value === '') yaml.fail(valueNode, 'value is empty');
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
      limits.push(Object.freeze({ unit, perMinute: this.yaml.u32(node, name), ruleId, matcher }));
    }
    return limits;
  }
}
