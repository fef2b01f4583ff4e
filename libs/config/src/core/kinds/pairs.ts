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

/** A control-plane key and whose it is. */
export interface ControlPlaneApiKey {
  readonly id: string;
  readonly name: string;
  readonly role: 'admin' | 'user';
  /** Secret. */
  readonly key: string;
}

/** Nothing of a bad entry is repeated: any part of it may be the key. */
function readControlPlaneKey(text: string): Parsed<ControlPlaneApiKey> {
  const parts = /^([^:]*):([^:]*):([^:]*):(.*)$/s.exec(text);
  if (parts === null) return bad('is not id:name:role:key');
  const [id = '', name = '', word = '', key = ''] = parts.slice(1);
  if (id.trim() === '' || id !== id.trim()) return bad('the id is empty or space-padded');
  const role = word.toLowerCase();
  if (role !== 'admin' && role !== 'user') return bad('the role is neither admin nor user');
  const problem = keyProblem(key);
  return problem === undefined ? good({ id, name, role, key }) : bad(`the key ${problem}`);
}

export const controlPlaneApiKey: Scalar<ControlPlaneApiKey> = {
  label: 'id:name:role:key',
  rule: "split at the first three ':'; role admin or user in any case; every id and key once",
  parse: readControlPlaneKey,
  json: (value) => {
    if (typeof value === 'string') return readControlPlaneKey(value);
    if (typeof value !== 'object' || value === null) return bad('expected a string or an object');
    const { id, name, role, key } = value as Record<string, unknown>;
    const all = [id, name, role, key];
    return all.every((part) => typeof part === 'string')
      ? readControlPlaneKey(all.join(':'))
      : bad('expected id, name, role and key as strings');
  },
  toJson: ({ id, name, role }) => `${id}:${name}:${role}:${MASK}`,
};

/** What a role of the issuer means here. */
export interface RoleMapping {
  readonly idpRole: string;
  readonly role: 'admin' | 'user';
}

function readRoleMapping(
  pair: readonly [string, string] | undefined,
  shown: string,
): Parsed<RoleMapping> {
  if (pair === undefined) return bad(`${shown} is not idp=admin|user`);
  const idpRole = pair[0].trim();
  const role = pair[1].trim().toLowerCase();
  if (idpRole === '') return bad(`${shown} has no role of the issuer`);
  if (role !== 'admin' && role !== 'user') return bad(`${shown}: the role is not admin or user`);
  return good({ idpRole, role });
}

export const roleMapping: Scalar<RoleMapping> = {
  label: 'idp=admin|user',
  rule: "split at the last '='; a role of the issuer and admin or user",
  parse: (text) => readRoleMapping(lastHalves(text), show(text)),
  json: (value) =>
    readRoleMapping(
      typeof value === 'string' ? lastHalves(value) : twoStrings(value, 'idpRole', 'role'),
      show(value),
    ),
  toJson: ({ idpRole, role }) => `${idpRole}=${role}`,
};

/** An issuer's role may hold `=`, as the names of LDAP groups do. */
function lastHalves(text: string): readonly [string, string] | undefined {
  const at = text.lastIndexOf('=');
  return at < 0 ? undefined : [text.slice(0, at), text.slice(at + 1)];
}
