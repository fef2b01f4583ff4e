/** Levels of objects and lists; worker definitions need four. */
const MAX_DEPTH = 64;
/** Members of one object. Some models name some 20,000 classes in `id2label`. */
const MAX_MEMBERS = 25_000;
/** Members and items in all. */
const MAX_VALUES = 50_000;

/**
 * Why a body has more in it than any worker definition: reading it by its shape takes time that grows
 * with the square of an object's members, and a call for each level. Undefined for a sound one.
 */
export function excessOf(body: object): string | undefined {
  let level: unknown[] = [body];
  let values = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH} levels`;
    const inner: unknown[] = [];
    for (const holder of level) {
      const held = Array.isArray(holder) ? (holder as unknown[]) : Object.values(holder as object);
      if (held.length > MAX_MEMBERS && !Array.isArray(holder)) {
        return `an object has more than ${MAX_MEMBERS} members`;
      }
      values += held.length;
      if (values > MAX_VALUES) return `more than ${MAX_VALUES} values`;
      for (const value of held) if (typeof value === 'object' && value !== null) inner.push(value);
    }
    level = inner;
  }
  return undefined;
}
