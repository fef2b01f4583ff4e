/** A value of a query parameter; `null` and `undefined` leave it out. */
export type ParamValue = string | number | bigint | boolean | null | undefined;

/** Query parameters; a list repeats its parameter. */
export type Params = Readonly<Record<string, ParamValue | readonly ParamValue[]>>;

/** `?a=1&b=2`, or nothing. */
export function queryOf(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    const values: readonly ParamValue[] = Array.isArray(value) ? value : [value as ParamValue];
    for (const each of values) {
      if (each !== null && each !== undefined) query.append(name, String(each));
    }
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** A worker id as one segment of a path. @throws TypeError for what would make another route of it. */
export function segmentOf(workerId: string): string {
  if (typeof workerId !== 'string') {
    throw new TypeError(`a worker id must be a string, not ${typeof workerId}`);
  }
  if (['', '.', '..'].includes(workerId)) {
    throw new TypeError(`'${workerId}' is not a worker id`);
  }
  return encodeURIComponent(workerId);
}

/**
 * An engine's path. One leading slash is dropped; what does not belong into a path is escaped, for the gateway to refuse it.
 * @throws TypeError for `.` and `..`, which every URL parser on the way would resolve to another route of the gateway.
 */
export function pathOf(path: string): string {
  if (typeof path !== 'string') throw new TypeError(`a path must be a string, not ${typeof path}`);
  const segments = (path.startsWith('/') ? path.slice(1) : path).split('/');
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    throw new TypeError(`'${path}' is not a path of an engine`);
  }
  return segments.map(encodeURIComponent).join('/');
}

/** @throws TypeError unless it is a string. What it says is for the gateway to judge. */
export function checkedSelector(selector: string): string {
  if (typeof selector !== 'string') {
    throw new TypeError(`selector must be a string, not ${typeof selector}`);
  }
  return selector;
}

/** A version as text. @throws TypeError unless it is a string or a whole number that is exact. */
export function versionOf(version: string | number | bigint): string {
  if (typeof version === 'string') return version;
  if (typeof version === 'bigint' || Number.isSafeInteger(version)) return String(version);
  throw new TypeError(
    `a version must be a string, a bigint or a safe integer, not ${typeof version === 'number' ? version : typeof version}`,
  );
}

/** Longest delay of a timer, in milliseconds; a longer one would fire at once. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** @throws TypeError, RangeError unless it is a positive number of milliseconds that a timer can wait. */
export function checkedTimeout(timeoutMs: number): number {
  if (typeof timeoutMs !== 'number') {
    throw new TypeError(`timeoutMs must be a number, not ${typeof timeoutMs}`);
  }
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    throw new RangeError(
      `timeoutMs must be above 0 and at most ${MAX_TIMEOUT_MS}, not ${timeoutMs}`,
    );
  }
  return timeoutMs;
}
