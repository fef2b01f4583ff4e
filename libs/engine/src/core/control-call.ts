import { type ControlEffect, type MemoryTag } from '@smg/plugin-api';
import { readJsonMembers, type JsonMember } from '@smg/protocol';

/** Reading of control calls, shared by the engines. Source: SMG RL contract 6.3 and decisions 11, 12. */

const MEMORY: readonly MemoryTag[] = ['weights', 'kv_cache', 'cuda_graph'];
const VERSION_FIELDS = ['weight_version', 'new_version'] as const;
const NOTHING: readonly ControlEffect[] = [];

type Members = ReturnType<typeof readJsonMembers>;

/**
 * Version members by body. A fan-out asks about the same bytes once per engine and adapter, and a
 * refit body may be hundreds of megabytes.
 */
const versionMembers = new WeakMap<Buffer, { readonly members: Members }>();

function versionMembersOf(body: Buffer): Members {
  let known = versionMembers.get(body);
  if (known === undefined) {
    known = { members: readJsonMembers(body, VERSION_FIELDS) };
    versionMembers.set(body, known);
  }
  return known.members;
}

/**
 * The version a refit body publishes in `field`. A number counts as it is written; a body that names
 * a version twice is trusted in neither.
 */
export function publishedVersion(
  body: Buffer,
  field: (typeof VERSION_FIELDS)[number],
): readonly ControlEffect[] {
  const members = versionMembersOf(body);
  if (members === undefined) return NOTHING;
  for (const member of members.values()) if (member.repeated) return NOTHING;
  const member = members.get(field);
  if (member === undefined || member.kind === 'null') return NOTHING;
  if (member.kind === 'number') return [{ kind: 'version', version: member.lexeme }];
  if (member.kind !== 'string') return [{ kind: 'unusable_version', found: member.kind }];
  return [{ kind: 'version', version: JSON.parse(member.lexeme) as string }];
}

/** Memory tags that a call names: none at all, or a list that may hold names the gateway knows not. */
export type NamedTags = readonly string[] | undefined;

/** `tags` of a JSON body; undefined when it names none, or is no JSON object. */
export function tagsOfBody(body: Buffer): NamedTags {
  const member = readJsonMembers(body, ['tags'])?.get('tags');
  return member === undefined ? undefined : namedBy(member);
}

function namedBy(member: JsonMember): NamedTags {
  if (member.kind !== 'string' && member.kind !== 'array') return undefined;
  const value = parsed(member.lexeme);
  if (value === undefined) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((tag): tag is string => typeof tag === 'string');
}

/** The scanner does not look into the strings of an array: one may still be no JSON. */
function parsed(lexeme: string): unknown {
  try {
    return JSON.parse(lexeme);
  } catch {
    return undefined;
  }
}

/** Every value of a parameter of a raw query, decoded; a value that cannot be decoded stays as it is. */
export function queryValues(query: string, name: string): readonly string[] {
  return new URLSearchParams(query).getAll(name);
}

/**
 * A release or restore of the tags named; of all when none is. An engine ignores tags it does not
 * know, so a call that names only such tags changes nothing.
 */
export function memoryEffect(
  kind: 'release' | 'restore',
  named: NamedTags,
): readonly ControlEffect[] {
  if (named === undefined || named.length === 0) return [{ kind, tags: [] }];
  const tags = MEMORY.filter((tag) => named.includes(tag));
  return tags.length === 0 ? NOTHING : [{ kind, tags }];
}
