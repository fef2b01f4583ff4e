import { ConversationError } from './history-errors';
import { type Metadata } from './history-store';

/** Source: SMG contract 2.7; lengths as in the OpenAI API. */
const MAX_KEYS = 16;
const MAX_KEY_LENGTH = 64;
const MAX_VALUE_LENGTH = 512;

/** @returns undefined for a missing or `null` metadata. */
export function readMetadata(value: unknown): Metadata | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new ConversationError(400, 'metadata must be an object');
  }
  const entries = Object.entries(value);
  for (const [key, entry] of entries) checkEntry(key, entry);
  if (entries.length > MAX_KEYS) throw tooMany();
  return fromEntries(entries);
}

/** Adds and replaces; a `null` takes the key away. */
export function mergeMetadata(
  old: Metadata | undefined,
  patch: Metadata | undefined,
): Metadata | undefined {
  if (patch === undefined) return old;
  const merged = new Map(Object.entries(old ?? {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  if (merged.size > MAX_KEYS) throw tooMany();
  return fromEntries([...merged]);
}

/** A key may be called `__proto__`; here it is a key like any other. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): Metadata {
  return Object.fromEntries(entries);
}

function checkEntry(key: string, value: unknown): void {
  if (key.length > MAX_KEY_LENGTH) {
    throw new ConversationError(400, `metadata: a key has more than ${MAX_KEY_LENGTH} characters`);
  }
  if (typeof value === 'string') {
    if (value.length <= MAX_VALUE_LENGTH) return;
    throw new ConversationError(
      400,
      `metadata: a value has more than ${MAX_VALUE_LENGTH} characters`,
    );
  }
  if (typeof value === 'object' && value !== null) {
    throw new ConversationError(400, 'metadata: values must be strings, numbers or booleans');
  }
}

function tooMany(): ConversationError {
  return new ConversationError(400, `metadata can have at most ${MAX_KEYS} keys`);
}
