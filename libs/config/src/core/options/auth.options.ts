import { append, flag, one, optional } from '../kinds/combine';
import { tenantApiKey } from '../kinds/pairs';
import { filled, secret } from '../kinds/texts';
import { inert, option, unavailable } from '../option';

/** Who may call. */
export const AUTH_OPTIONS = [
  option('auth.apiKey', 'api-key', optional(one(secret)), {
    default: undefined,
    secret: true,
    doc: 'Shared serving key; also sent to the start-up workers.',
  }),
  option('auth.tenantApiKeys', 'tenant-api-key', append(tenantApiKey), {
    default: [],
    secret: true,
    doc: 'Serving key of one tenant; opens inference routes only.',
  }),
  unavailable('control-plane-api-keys', append(secret), {
    default: [],
    env: 'CONTROL_PLANE_API_KEYS',
    secret: true,
    doc: 'Control-plane key as `id:name:role:key`; role `admin` or `user`.',
  }),
  unavailable('jwt-issuer', optional(one(filled())), {
    default: undefined,
    env: 'JWT_ISSUER',
    doc: 'Issuer of control-plane tokens.',
  }),
  unavailable('jwt-audience', optional(one(filled())), {
    default: undefined,
    env: 'JWT_AUDIENCE',
    doc: 'Audience of control-plane tokens.',
  }),
  unavailable('jwt-jwks-uri', optional(one(filled())), {
    default: undefined,
    env: 'JWT_JWKS_URI',
    defaultText: 'discovered from the issuer',
    doc: 'Where the keys of the issuer are.',
  }),
  unavailable('jwt-role-claim', one(filled()), {
    default: 'roles',
    doc: 'Claim that holds the roles.',
  }),
  unavailable('jwt-role-mapping', append(filled('idp=admin|user')), {
    default: [],
    doc: 'Role of the gateway for a role of the issuer.',
  }),
  inert('disable-audit-logging', flag, {
    default: false,
    doc: 'Do not log control-plane decisions.',
    because: 'there is no audit log in this version',
  }),
  unavailable('control-plane-audit-enabled', flag, {
    default: false,
    doc: 'Log control-plane decisions.',
  }),
] as const;

/** Certificates. */
export const TLS_OPTIONS = [
  unavailable('tls-cert-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Certificate of the main port; needs --tls-key-path.',
  }),
  unavailable('tls-key-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Key of the main port; needs --tls-cert-path.',
  }),
  unavailable('client-cert-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Certificate shown to workers.',
  }),
  unavailable('client-key-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Key of the certificate shown to workers.',
  }),
  unavailable('ca-cert-paths', append(filled('path')), {
    default: [],
    doc: 'Authorities trusted for workers.',
  }),
] as const;
