/** Reading of loosely typed engine answers; nothing an engine says may throw. */

/** The value as a JSON object, or undefined. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

/** A scalar as label text; undefined for null, empty text and anything structured. */
export function labelText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  return typeof value === 'boolean' ? String(value) : undefined;
}

/** A positive whole number, also when sent as text. */
export function positiveInt(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0
    ? number
    : undefined;
}

/** The strings of a JSON array; undefined when there are none. */
export function stringList(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const strings = value.filter((item): item is string => typeof item === 'string' && item !== '');
  return strings.length === 0 ? undefined : strings;
}

/** First entry of an OpenAI model list. */
export function firstModel(json: unknown): Readonly<Record<string, unknown>> | undefined {
  const data = asObject(json)?.['data'];
  return Array.isArray(data) ? asObject(data[0]) : undefined;
}
