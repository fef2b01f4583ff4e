import { equalVersions, parseVersion, type WeightVersion } from './weight-version';
import { trimWhitespace } from './whitespace';

/** A buffered 2xx answer of a worker, to be judged. */
export interface MixedQuestion {
  /** The route is exactly `/generate`: the engine's own report is read. */
  readonly isGenerate: boolean;
  readonly body: Buffer;
  /** `content-type` of the answer. */
  readonly contentType: string | undefined;
  /** What the response is stamped with; undefined when it is not. */
  readonly stamped: WeightVersion | undefined;
  /** The table's version at dispatch was another one. */
  readonly drifted: boolean;
}

/** Whether {@link isMixed} needs the body; `status` is the answer's. */
export function mayBeMixed(status: number, isGenerate: boolean, drifted: boolean): boolean {
  return status >= 200 && status <= 299 && (isGenerate || drifted);
}

/**
 * Whether an answer was made with more than one version of the weights. Engines say so on
 * `/generate`; where an engine says nothing, a version that changed between dispatch and answer says
 * it. Source: SMG RL contract 7.4 and the decision on stamps.
 */
export function isMixed(question: MixedQuestion): boolean {
  const { isGenerate, contentType, drifted } = question;
  const report = /json/i.test(contentType ?? '') ? readReport(question) : SILENT;
  if (isGenerate && report.mixed) return true;
  return drifted && !report.reported;
}

interface Report {
  readonly mixed: boolean;
  /** The engine named a version of its own. */
  readonly reported: boolean;
}

const SILENT: Report = Object.freeze({ mixed: false, reported: false });
const FIELD = Buffer.from('"weight_version');

function readReport({ body, isGenerate, stamped }: MixedQuestion): Report {
  // Much cheaper than parsing, and an answer without the name reports nothing.
  if (!body.includes(FIELD)) return SILENT;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    return SILENT;
  }
  const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  let mixed = false;
  let reported = false;
  for (const item of items) {
    if (!isObject(item)) return SILENT;
    // The native answer has `meta_info`, an OpenAI one may have `metadata` instead.
    const own = reportOf(item['meta_info'] ?? (isGenerate ? null : item['metadata']), stamped);
    if (own === undefined) return SILENT;
    mixed ||= own.mixed;
    reported ||= own.reported;
  }
  return { mixed, reported };
}

/** What one object says; undefined when it has not the shape an engine sends. */
function reportOf(info: unknown, stamped: WeightVersion | undefined): Report | undefined {
  if (info === undefined || info === null) return SILENT;
  if (!isObject(info)) return undefined;
  const spans = info['weight_versions'] ?? [];
  if (!Array.isArray(spans)) return undefined;
  const named = info['weight_version'];
  return {
    mixed: spans.length > 1 || differs(named, stamped),
    reported: spans.length > 0 || isVersion(named),
  };
}

function isVersion(named: unknown): named is string | number {
  return typeof named === 'number' || (typeof named === 'string' && trimWhitespace(named) !== '');
}

function differs(named: unknown, stamped: WeightVersion | undefined): boolean {
  if (stamped === undefined || !isVersion(named)) return false;
  // JSON.parse rounded a number this large, so it proves nothing.
  if (typeof named === 'number' && Math.abs(named) > Number.MAX_SAFE_INTEGER) return false;
  return !equalVersions(parseVersion(String(named)), stamped);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
