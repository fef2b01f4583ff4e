import { append, flag, list, one, optional } from '../kinds/combine';
import { cidr } from '../kinds/cidr';
import { controlPlaneApiKey, roleMapping, tenantApiKey } from '../kinds/pairs';
import { filled, httpUrl, secret } from '../kinds/texts';
import { inert, option } from '../option';

/** Who may call. */
export const AUTH_OPTIONS = [
  option('auth.apiKey', 'api-key', optional(one(secret)), {
    default: undefined,
    env: 'SMG_API_KEY',
    secret: true,
    doc: 'Shared serving key; also sent to the start-up workers.',
  }),
  option('auth.apiKeyFile', 'api-key-file', optional(one(filled('path'))), {
    default: undefined,
    ours: true,
    doc: 'File that holds the shared key on one line instead of --api-key; read again on SIGHUP.',
  }),
  option('auth.tenantApiKeys', 'tenant-api-key', append(tenantApiKey), {
    default: [],
    secret: true,
    doc: 'Serving key of one tenant; opens inference routes only.',
  }),
  option('auth.tenantApiKeysFile', 'tenant-api-keys-file', optional(one(filled('path'))), {
    default: undefined,
    ours: true,
    doc: 'File of tenant keys, one `tenant_id:key` per line; read again on SIGHUP.',
  }),
  option('auth.controlPlaneApiKeys', 'control-plane-api-keys', append(controlPlaneApiKey), {
    default: [],
    env: 'CONTROL_PLANE_API_KEYS',
    secret: true,
    doc: 'Control-plane key as `id:name:role:key`; role `admin` or `user`. In the variable, one per line.',
  }),
  option(
    'auth.controlPlaneApiKeysFile',
    'control-plane-api-keys-file',
    optional(one(filled('path'))),
    {
      default: undefined,
      ours: true,
      doc: 'File of control-plane keys, one `id:name:role:key` per line; read again on SIGHUP.',
    },
  ),
  option('auth.jwtIssuer', 'jwt-issuer', optional(one(httpUrl)), {
    default: undefined,
    env: 'JWT_ISSUER',
    doc: 'Issuer of control-plane tokens; needs --jwt-audience.',
  }),
  option('auth.jwtAudience', 'jwt-audience', optional(one(filled())), {
    default: undefined,
    env: 'JWT_AUDIENCE',
    doc: 'Audience of control-plane tokens; needs --jwt-issuer.',
  }),
  option('auth.jwtJwksUri', 'jwt-jwks-uri', optional(one(httpUrl)), {
    default: undefined,
    env: 'JWT_JWKS_URI',
    defaultText: 'discovered from the issuer',
    doc: 'Where the keys of the issuer are.',
  }),
  option('auth.jwtRoleClaim', 'jwt-role-claim', one(filled()), {
    default: 'roles',
    doc: 'Claim that holds the roles; dots lead into nested objects, as in `realm_access.roles`.',
  }),
  option('auth.jwtRoleMapping', 'jwt-role-mapping', append(roleMapping), {
    default: [],
    doc: 'Role of the gateway for a role of the issuer.',
  }),
  option('audit.disabled', 'disable-audit-logging', flag, {
    default: false,
    doc: 'Keep no record of control-plane decisions and actions.',
  }),
  option('audit.logFile', 'audit-log-file', optional(one(filled('path'))), {
    default: undefined,
    ours: true,
    doc: 'File the audit records are appended to, each made durable; reopened on SIGHUP.',
  }),
  option('audit.required', 'audit-required', flag, {
    default: false,
    ours: true,
    doc: 'Refuse control calls whose record cannot be made durable; needs --audit-log-file.',
  }),
  inert('control-plane-audit-enabled', flag, {
    default: false,
    doc: 'Log control-plane decisions.',
    because: 'the audit log is on unless --disable-audit-logging is given',
  }),
  option('listener.docsDisabled', 'disable-docs', flag, {
    default: false,
    ours: true,
    doc: 'Leave out `/docs` and `/openapi.json`.',
  }),
] as const;

/** Certificates, and where workers may be. */
export const TLS_OPTIONS = [
  option('tls.certPath', 'tls-cert-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Certificate chain (PEM) of the main port; needs --tls-key-path; read again on SIGHUP.',
  }),
  option('tls.keyPath', 'tls-key-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Key (PEM) of the main port; needs --tls-cert-path; read again on SIGHUP.',
  }),
  option('upstream.clientCertPath', 'client-cert-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Certificate (PEM) shown to workers; needs --client-key-path.',
  }),
  option('upstream.clientKeyPath', 'client-key-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Key (PEM) of the certificate shown to workers; needs --client-cert-path.',
  }),
  option('upstream.caCertPaths', 'ca-cert-paths', append(filled('path')), {
    default: [],
    doc: "Authorities (PEM) trusted for workers besides the system's.",
  }),
  option('upstream.allowCidrs', 'worker-allow-cidr', list(cidr), {
    default: [],
    defaultText: 'any address that is not denied',
    ours: true,
    doc: 'Networks workers may be in; checked when one registers and on every connect.',
  }),
  option('upstream.denyCidrs', 'worker-deny-cidr', list(cidr), {
    default: [],
    ours: true,
    doc: 'Networks workers may not be in, besides those of cloud metadata services.',
  }),
] as const;
