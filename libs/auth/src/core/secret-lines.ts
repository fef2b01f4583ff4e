import { type ControlPlaneKey, type TenantKey } from './auth-options';

/** One entry of a key file. */
export interface SecretLine {
  /** 1-based. */
  readonly number: number;
  readonly text: string;
}

/** Entries of a key file: one per line; blank lines and lines that start with `#` are left out. */
export function secretLines(content: string): readonly SecretLine[] {
  const lines: SecretLine[] = [];
  // Editors of other systems add a byte order mark and carriage returns.
  const text = content.startsWith('\uFEFF') ? content.slice(1) : content;
  for (const [index, line] of text.split('\n').entries()) {
    const entry = line.endsWith('\r') ? line.slice(0, -1) : line;
    const start = entry.trimStart();
    if (start !== '' && !start.startsWith('#')) lines.push({ number: index + 1, text: entry });
  }
  return lines;
}

/** What stands for a secret where a configuration is printed; as a key it is a mistake. */
const MASK = '***';

/** Why a text cannot be a key, or undefined; the rules of the options. */
function keyProblem(key: string): string | undefined {
  if (key === '') return 'the key is empty';
  if (key === MASK) return `the key is the mask ${MASK} instead of a secret`;
  if (key !== key.trim()) return 'the key starts or ends with a space';
  return /^[\x20-\x7e]+$/.test(key) ? undefined : 'the key has a character outside printable ASCII';
}

/** What a line says, or why it says nothing; a problem never repeats any of the line. */
export type ParsedLine<T> = { readonly value: T } | { readonly problem: string };

export function parseSharedLine(text: string): ParsedLine<string> {
  const problem = keyProblem(text);
  return problem === undefined ? { value: text } : { problem };
}

/** `tenant_id:key`, split at the first `:`. */
export function parseTenantLine(text: string): ParsedLine<TenantKey> {
  const at = text.indexOf(':');
  if (at < 0) return { problem: "no ':' between tenant id and key" };
  const tenantId = text.slice(0, at);
  const key = text.slice(at + 1);
  if (tenantId === '') return { problem: 'the tenant id is empty' };
  if (tenantId !== tenantId.trim()) {
    return { problem: 'the tenant id starts or ends with a space' };
  }
  const problem = keyProblem(key);
  return problem === undefined ? { value: { tenantId, key } } : { problem };
}

/** `id:name:role:key`, split at the first three `:`. */
export function parseControlLine(text: string): ParsedLine<ControlPlaneKey> {
  const parts = /^([^:]*):([^:]*):([^:]*):(.*)$/s.exec(text);
  if (parts === null) return { problem: 'is not id:name:role:key' };
  const [id = '', name = '', word = '', key = ''] = parts.slice(1);
  if (id === '' || id !== id.trim()) return { problem: 'the id is empty or space-padded' };
  const role = word.toLowerCase();
  if (role !== 'admin' && role !== 'user') {
    return { problem: 'the role is neither admin nor user' };
  }
  const problem = keyProblem(key);
  return problem === undefined ? { value: { id, name, role, key } } : { problem };
}
