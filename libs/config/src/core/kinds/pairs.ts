import { bad, good, type Parsed } from '../parsed';
import { show } from '../show';
import { type Scalar } from './kind';
import { keyProblem, MASK } from './texts';

/** One more name for a model. */
export interface ModelAlias {
  readonly alias: string;
  readonly canonical: string;
}

/** A serving key of one tenant. */
export interface TenantApiKey {
  readonly tenantId: string;
  /** Secret. */
  readonly key: string;
}

function halves(text: string, separator: string): readonly [string, string] | undefined {
  const at = text.indexOf(separator);
  return at < 0 ? undefined : [text.slice(0, at), text.slice(at + 1)];
}

function twoStrings(value: unknown, first: string, second: string) {
  if (typeof value !== 'object' || value === null) return undefined;
  const { [first]: left, [second]: right } = value as Record<string, unknown>;
  return typeof left === 'string' && typeof right === 'string'
    ? ([left, right] as const)
    : undefined;
}

function readAlias(pair: readonly [string, string] | undefined, shown: string): Parsed<ModelAlias> {
  if (pair === undefined) return bad(`${shown} is not alias=canonical`);
  const [alias, canonical] = [pair[0].trim(), pair[1].trim()];
  if (alias === '' || canonical === '') return bad(`${shown} has an empty side`);
  if (alias === canonical) return bad(`${shown} names the same model twice`);
  return good({ alias, canonical });
}

export const modelAlias: Scalar<ModelAlias> = {
  label: 'alias=canonical',
  rule: 'both sides non-empty and different; one alias, one model',
  parse: (text) => readAlias(halves(text, '='), show(text)),
  json: (value) =>
    readAlias(
      typeof value === 'string' ? halves(value, '=') : twoStrings(value, 'alias', 'canonical'),
      show(value),
    ),
  toJson: ({ alias, canonical }) => `${alias}=${canonical}`,
};

/** Nothing of a bad entry is repeated: without its colon, the entry may be the key. */
function readTenantKey(pair: readonly [string, string] | undefined): Parsed<TenantApiKey> {
  if (pair === undefined) return bad("no ':' between tenant id and key");
  const [tenantId, key] = pair;
  if (tenantId === '') return bad('the tenant id is empty');
  if (tenantId !== tenantId.trim()) return bad('the tenant id starts or ends with a space');
  const problem = keyProblem(key);
  return problem === undefined ? good({ tenantId, key }) : bad(`the key ${problem}`);
}

export const tenantApiKey: Scalar<TenantApiKey> = {
  label: 'tenant_id:key',
  rule: "split at the first ':'; neither side empty or space-padded; every key once",
  parse: (text) => readTenantKey(halves(text, ':')),
  json: (value) =>
    readTenantKey(
      typeof value === 'string' ? halves(value, ':') : twoStrings(value, 'tenantId', 'key'),
    ),
  toJson: ({ tenantId }) => `${tenantId}:${MASK}`,
};
