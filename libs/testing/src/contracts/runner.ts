/** The two globals every test runner of the Jest family has; assertions come from `node:assert`. */
interface Runner {
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => void | Promise<void>) => void;
}

/** Looked up when a suite is declared, so that importing this package needs no runner. */
export function runner(): Runner {
  const found = globalThis as Partial<Runner>;
  if (typeof found.describe !== 'function' || typeof found.it !== 'function') {
    throw new Error('call this from a test file: the globals describe and it are missing');
  }
  return { describe: found.describe, it: found.it };
}

/** Whether a value is a promise; contracts that must be synchronous refuse one. */
export function isThenable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}
