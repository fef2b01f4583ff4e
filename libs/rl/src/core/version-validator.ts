import { parseVersion, type WeightVersion } from './weight-version';
import { trimWhitespace } from './whitespace';

/** Why a version was refused; safe as a log field. */
export type VersionFault = 'empty' | 'too_long' | 'not_printable_ascii';

export interface VersionRefusal {
  readonly ok: false;
  readonly reason: VersionFault;
  /** What the client reads. */
  readonly message: string;
}

export type ValidatedVersion =
  { readonly ok: true; readonly version: WeightVersion } | VersionRefusal;

const MAX_BYTES = 128;
const PRINTABLE = /^[!-~]*$/;
/** What an engine reports before anyone told it a version; special as a label, nowhere else. */
const UNVERSIONED_LABEL = 'default';

const refuse = (reason: VersionFault, message: string): VersionRefusal => ({
  ok: false,
  reason,
  message,
});

/**
 * Checks a version that someone sent: 1 to 128 bytes of printable ASCII after trimming, so that it
 * is always a legal header value. Source: SMG RL contract 4.2; the texts are part of it.
 */
export function validateVersion(text: string): ValidatedVersion {
  const trimmed = trimWhitespace(text);
  if (trimmed === '') return refuse('empty', 'weight_version is empty');
  if (Buffer.byteLength(trimmed) > MAX_BYTES) {
    return refuse('too_long', 'weight_version exceeds 128 bytes');
  }
  if (!PRINTABLE.test(trimmed)) {
    return refuse('not_printable_ascii', 'weight_version contains a byte outside printable ASCII');
  }
  return { ok: true, version: parseVersion(trimmed) };
}

/**
 * The version a registration label `weight_version` states: none when it is missing, blank or
 * `default`. It passes the same check as every other version; a refused one is no version.
 */
export function versionOfLabel(
  label: string | undefined,
): WeightVersion | undefined | VersionRefusal {
  const text = trimWhitespace(label ?? '');
  if (text === '' || text === UNVERSIONED_LABEL) return undefined;
  const checked = validateVersion(text);
  return checked.ok ? checked.version : checked;
}
