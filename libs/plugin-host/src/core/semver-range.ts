// The part of semantic versioning that a plug-in's `smgPluginApi` needs: one comparator. Pre-release
// and build suffixes are not part of PLUGIN_API_VERSION and are refused.

type Version = readonly [major: number, minor: number, patch: number];

const RANGE = /^(\^|~|>=|=)?\s*v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?$/;

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** First version above those a caret or tilde range takes in. */
function ceiling(operator: '^' | '~', [major, minor, patch]: Version, parts: number): Version {
  if (operator === '~') return parts === 1 ? [major + 1, 0, 0] : [major, minor + 1, 0];
  if (major > 0 || parts === 1) return [major + 1, 0, 0];
  // Below 1.0.0 the leftmost part that is not zero may not change.
  return minor > 0 || parts === 2 ? [0, minor + 1, 0] : [0, 0, patch + 1];
}

/**
 * Whether `version` lies in `range`: `1.2.3` (exact), `^1.2`, `~1.2.3` or `>=1.0`. Missing parts
 * count as zero.
 * @returns undefined when either text cannot be read.
 */
export function satisfiesRange(version: string, range: string): boolean | undefined {
  const own = RANGE.exec(version.trim());
  const wanted = RANGE.exec(range.trim());
  if (own === null || wanted === null || own[1] !== undefined) return undefined;
  const actual = toVersion(own);
  const floor = toVersion(wanted);
  const parts = wanted[4] !== undefined ? 3 : wanted[3] !== undefined ? 2 : 1;
  switch (wanted[1]) {
    case '>=':
      return compare(actual, floor) >= 0;
    case '^':
    case '~':
      return compare(actual, floor) >= 0 && compare(actual, ceiling(wanted[1], floor, parts)) < 0;
    default:
      return compare(actual, floor) === 0;
  }
}

function toVersion(match: RegExpExecArray): Version {
  return [Number(match[2]), Number(match[3] ?? 0), Number(match[4] ?? 0)];
}
