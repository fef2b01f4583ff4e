/** Freezes a tree of plain objects and arrays in place. */
export function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null && !Object.isFrozen(member)) {
      deepFreeze(member as object);
    }
  }
  return Object.freeze(value);
}
