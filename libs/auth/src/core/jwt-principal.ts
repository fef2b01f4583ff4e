import { type Principal } from '@smg/plugin-api';
import { type RoleMapping } from './auth-options';
import { type Claims } from './jwt-token';

type Role = Principal['role'];

/** Claims looked at after the configured one. Source: SMG contract 8.3. */
const USUAL_CLAIMS = ['role', 'roles', 'groups', 'group'] as const;
const ID_CLAIMS = ['sub', 'email', 'preferred_username'] as const;

/** A claim literally named so wins; else dots lead into nested objects. */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** Reads roles out of claims; made once. */
export class RoleReader {
  private readonly mapping = new Map<string, Role>();
  private readonly names: readonly string[];

  /** @throws Error when one role of the issuer means two things. */
  constructor(roleClaim: string, mapping: readonly RoleMapping[]) {
    this.names = [roleClaim, ...USUAL_CLAIMS.filter((name) => name !== roleClaim)];
    for (const { idpRole, role } of mapping) {
      if ((this.mapping.get(idpRole) ?? role) !== role) {
        throw new Error(`--jwt-role-mapping: ${JSON.stringify(idpRole)} is both admin and user`);
      }
      this.mapping.set(idpRole, role);
    }
  }

  /** The first claim that says anything decides; in it, admin wins. Nothing: `user`. */
  roleOf(claims: Claims): Role {
    for (const name of this.names) {
      const role = this.roleIn(claimAt(claims, name));
      if (role !== undefined) return role;
    }
    return 'user';
  }

  private roleIn(value: unknown): Role | undefined {
    let found: Role | undefined;
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof one !== 'string') continue;
      const role = this.mapping.get(one) ?? literalRole(one);
      if (role === 'admin') return role;
      found ??= role;
    }
    return found;
  }
}

function literalRole(value: string): Role | undefined {
  const word = value.toLowerCase();
  return word === 'admin' || word === 'user' ? word : undefined;
}

/** Who a token stands for. */
export function principalOfClaims(claims: Claims, roles: RoleReader): Principal {
  let id = 'unknown';
  for (const name of ID_CLAIMS) {
    const value = claims[name];
    if (typeof value === 'string' && value !== '') {
      id = value;
      break;
    }
  }
  return Object.freeze({ id, method: 'jwt', role: roles.roleOf(claims) });
}
