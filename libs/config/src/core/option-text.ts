import { fileKey, type AnyOption } from './option';

/** `--worker-urls <URL>...`, as a usage line shows it. */
export function usageOf(option: AnyOption): string {
  const { kind, flag } = option;
  if (kind.arity === 'none') return `--${flag}`;
  const word = kind.label.replace(/^(list|append|csv) of /, '').replaceAll('|', ' or ');
  return `--${flag} <${word}>${kind.arity === 'many' ? '...' : ''}`;
}

/** Default in words: the JSON value, or what being unset means. */
export function defaultOf(option: AnyOption): string {
  if (option.defaultText !== undefined) return option.defaultText;
  const json = option.kind.toJson(option.default);
  if (json === null || json === undefined) return 'unset';
  if (Array.isArray(json)) return json.length === 0 ? 'empty' : json.map(String).join(' ');
  return typeof json === 'string' ? json : JSON.stringify(json);
}

/** Keys under which a config file may hold the option; the canonical one first. */
export function fileKeysOf(option: AnyOption): readonly string[] {
  return option.availability === 'command' ? [] : [option.flag, ...option.aliases].map(fileKey);
}
