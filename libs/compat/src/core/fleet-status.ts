import { type FleetReport } from '@smg/plugin-api';

const BAD_GATEWAY = 502;
const GATEWAY_TIMEOUT = 504;

/**
 * Status of a call that went to every engine. Clients that take the gateway for one engine go by the
 * status alone, so a call that one engine did not do must not look done: it has the status of those that
 * failed, where they agree (404: none of them has the route), else 502.
 */
export function fleetStatus({ answers, silent }: FleetReport): number {
  const failures = new Set<number>();
  for (const { status, agrees } of answers) {
    if (agrees) continue;
    failures.add(status >= 400 ? status : BAD_GATEWAY);
  }
  for (const { error } of silent) {
    failures.add(error === 'upstream_timeout' ? GATEWAY_TIMEOUT : BAD_GATEWAY);
  }
  const [first, ...others] = failures;
  if (first === undefined) return 200;
  return others.length === 0 ? first : BAD_GATEWAY;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Members that stand for all engines, in the words of one: what a client that asked one engine would
 * read. Empty unless every engine answered with an object.
 */
export function mergedMembers({ answers, total }: FleetReport): Members {
  const bodies: Members[] = [];
  for (const { body } of answers) {
    const members = membersOf(body);
    if (members !== undefined) bodies.push(members);
  }
  if (bodies.length !== total || total === 0) return {};
  const merged: Record<string, unknown> = {};
  const sizes = bodies.map((it) => it['world_size']);
  if (sizes.every((it) => typeof it === 'number')) {
    merged['world_size'] = sizes.reduce((sum: number, it) => sum + it, 0);
  }
  for (const name of ['is_paused', 'is_sleeping'] as const) {
    const said = bodies.map((it) => it[name]);
    // One engine that still generates is what a trainer must hear of.
    if (said.every((it) => typeof it === 'boolean')) merged[name] = said.every(Boolean);
  }
  const versions = bodies.map((it) => it['weight_version']);
  if (versions.every((it) => it !== undefined)) {
    merged['weight_version'] = versions.every((it) => it === versions[0]) ? versions[0] : null;
  }
  return merged;
}

/** A JSON object, or undefined. */
function membersOf(body: Buffer): Members | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Members)
    : undefined;
}
