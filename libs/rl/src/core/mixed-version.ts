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
  const { isGenerate, body, contentType, stamped, drifted } = question;
  const report = /json/i.test(contentType ?? '') ? readReport(body, stamped) : SILENT;
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

function readReport(body: Buffer, stamped: WeightVersion | undefined): Report {
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
    const own = reportOf(item, stamped);
    if (own === undefined) return SILENT;
    mixed ||= own.mixed;
    reported ||= own.reported;
  }
  return { mixed, reported };
}

/** One object's report; undefined when it has not the shape an engine sends. */
function reportOf(
  item: Readonly<Record<string, unknown>>,
  stamped: WeightVersion | undefined,
): Report | undefined {
  // The native answer has `meta_info`, the OpenAI one `metadata`.
  const info = item['meta_info'] ?? item['metadata'];
  if (info === undefined || info === null) return SILENT;
  if (!isObject(info)) return undefined;
  const spans = info['weight_versions'];
  if (spans !== undefined && spans !== null && !Array.isArray(spans)) return undefined;
  const version = versionText(info['weight_version']);
  const several = Array.isArray(spans) && spans.length > 1;
  const differs =
    version !== undefined &&
    stamped !== undefined &&
    !equalVersions(parseVersion(version), stamped);
  const hasSpans = Array.isArray(spans) && spans.length > 0;
  return { mixed: several || differs, reported: hasSpans || version !== undefined };
}

function versionText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && trimWhitespace(value) !== '' ? value : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
