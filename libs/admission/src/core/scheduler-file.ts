import { type Node } from 'yaml';
import {
  type ClassSettings,
  type ClassTable,
  DEFAULT_CLASSES,
  PRIORITY_CLASSES,
  type PriorityRank,
  rankOf,
} from './priority-class';
import { quote, StrictYaml } from './strict-yaml';
import { canonicalTenant, TENANT_KEY_FORMS } from './tenant-key';

const MAX_TENANTS = 10_000;
const CLASS_KEYS = [
  'reserved_floor',
  'reserved_per_slot',
  'queue_size',
  'queue_timeout_secs',
  'starvation_threshold_secs',
  'can_preempt',
] as const;

/** What a file says about priorities. */
export interface SchedulerPlan {
  readonly classes: ClassTable;
  /** The highest class of a tenant; those without an entry have the default. */
  readonly maxClassOf: ReadonlyMap<string, PriorityRank>;
}

/** Without a file. */
export const DEFAULT_PLAN: SchedulerPlan = Object.freeze({
  classes: DEFAULT_CLASSES,
  maxClassOf: new Map(),
});

/**
 * Reads a file of classes and tenant policies.
 * @param name of the file, for messages.
 * @throws StrictYamlError `name:line:column: what is wrong`.
 */
export function readSchedulerPlan(text: string, name: string): SchedulerPlan {
  const yaml = new StrictYaml(text, name);
  const members = yaml.members(yaml.root, 'the file', ['classes', 'tenant_policies']);
  const classes = members.get('classes');
  const tenants = members.get('tenant_policies');
  if (classes === undefined && tenants === undefined) {
    yaml.fail(yaml.root, 'neither classes nor tenant_policies');
  }
  return Object.freeze({
    classes: classes === undefined ? DEFAULT_CLASSES : readClasses(yaml, classes),
    maxClassOf: tenants === undefined ? new Map() : readTenants(yaml, tenants),
  });
}

/** A class the file names is described as a whole; the others are as without a file. */
function readClasses(yaml: StrictYaml, node: Node): ClassTable {
  const given = yaml.members(node, 'classes', PRIORITY_CLASSES);
  const table: Record<PriorityRank, ClassSettings> = { ...DEFAULT_CLASSES };
  for (const [name, settings] of given) {
    const rank = rankOf(name);
    if (rank !== undefined) table[rank] = readClass(yaml, settings, name);
  }
  return Object.freeze(table);
}

function readClass(yaml: StrictYaml, node: Node, name: string): ClassSettings {
  const members = yaml.members(node, `the class ${name}`, CLASS_KEYS);
  const number = (key: (typeof CLASS_KEYS)[number], least = 0): number =>
    yaml.u32(yaml.needed(members, node, key), key, least);
  const perSlot = members.get('reserved_per_slot');
  const queueSize = number('queue_size');
  return Object.freeze({
    reservedFloor: number('reserved_floor'),
    reservedPerSlot: perSlot === undefined ? 0 : yaml.share(perSlot, 'reserved_per_slot'),
    queueSize,
    // A queue nobody may wait in is a mistake.
    queueTimeoutSecs: number('queue_timeout_secs', queueSize > 0 ? 1 : 0),
    starvationThresholdSecs: number('starvation_threshold_secs'),
    canPreempt: yaml.flag(yaml.needed(members, node, 'can_preempt'), 'can_preempt'),
  });
}

function readTenants(yaml: StrictYaml, node: Node): ReadonlyMap<string, PriorityRank> {
  const found = new Map<string, PriorityRank>();
  for (const [key, value] of yaml.entries(node, 'tenant_policies', MAX_TENANTS)) {
    const tenant = canonicalTenant(yaml.string(key, 'a tenant'));
    if (tenant === undefined) yaml.fail(key, `a tenant must be ${TENANT_KEY_FORMS}`);
    if (found.has(tenant)) yaml.fail(key, `the tenant ${quote(tenant)} is there already`);
    const members = yaml.members(value, 'a tenant policy', ['max_class']);
    const classNode = yaml.needed(members, value, 'max_class');
    const name = yaml.string(classNode, 'max_class');
    const rank = (PRIORITY_CLASSES as readonly string[]).indexOf(name);
    if (rank === -1)
      yaml.fail(classNode, `max_class must be one of ${PRIORITY_CLASSES.join(', ')}`);
    found.set(tenant, rank as PriorityRank);
  }
  return found;
}
