import { choice } from '../kinds/choices';
import { flag, one, optional } from '../kinds/combine';
import { integer, seconds, usize } from '../kinds/numbers';
import { filled, secret } from '../kinds/texts';
import { option, unavailable } from '../option';

/** May be negative: keep for ever. */
const days = integer({
  label: 'i64 d',
  min: Number.MIN_SAFE_INTEGER,
  max: Number.MAX_SAFE_INTEGER,
});

/** Stored conversations and WebAssembly hooks. */
export const STORAGE_OPTIONS = [
  option(
    'history.backend',
    'history-backend',
    one(choice(['memory', 'none', 'oracle', 'postgres', 'redis'])),
    {
      default: 'memory',
      doc: 'Where responses and conversations are kept; oracle is not available in this version.',
    },
  ),
  option('history.postgresDbUrl', 'postgres-db-url', optional(one(secret)), {
    default: undefined,
    secret: true,
    doc: 'PostgreSQL database, postgres://…; read with --history-backend postgres.',
  }),
  option('history.postgresPoolMaxSize', 'postgres-pool-max-size', one(usize(1)), {
    default: 16,
    doc: 'Most PostgreSQL connections.',
  }),
  option('history.redisUrl', 'redis-url', optional(one(secret)), {
    default: undefined,
    secret: true,
    doc: 'Redis server, redis://… or rediss://…; read with --history-backend redis.',
  }),
  option('history.redisPoolMaxSize', 'redis-pool-max-size', one(usize(1)), {
    default: 16,
    doc: 'Most Redis connections.',
  }),
  option('history.redisRetentionDays', 'redis-retention-days', one(days), {
    default: 30,
    doc: 'Days an entry is kept in Redis after it was last written; below 0 keeps it.',
  }),
  unavailable('oracle-wallet-path', optional(one(filled('path'))), {
    default: undefined,
    env: 'ATP_WALLET_PATH',
    doc: 'Oracle wallet.',
  }),
  unavailable('oracle-tns-alias', optional(one(filled())), {
    default: undefined,
    env: 'ATP_TNS_ALIAS',
    doc: 'Oracle TNS alias.',
  }),
  unavailable('oracle-dsn', optional(one(secret)), {
    default: undefined,
    env: 'ATP_DSN',
    secret: true,
    doc: 'Oracle connect descriptor.',
  }),
  unavailable('oracle-user', optional(one(filled())), {
    default: undefined,
    env: 'ATP_USER',
    doc: 'Oracle user.',
  }),
  unavailable('oracle-password', optional(one(secret)), {
    default: undefined,
    env: 'ATP_PASSWORD',
    secret: true,
    doc: 'Oracle password.',
  }),
  unavailable('oracle-external-auth', flag, {
    default: false,
    env: 'ATP_EXTERNAL_AUTH',
    doc: 'Oracle external authentication.',
  }),
  unavailable('oracle-pool-min', optional(one(usize())), {
    default: undefined,
    env: 'ATP_POOL_MIN',
    doc: 'Fewest Oracle connections.',
  }),
  unavailable('oracle-pool-max', optional(one(usize(1))), {
    default: undefined,
    env: 'ATP_POOL_MAX',
    doc: 'Most Oracle connections.',
  }),
  unavailable('oracle-pool-timeout-secs', optional(one(seconds())), {
    default: undefined,
    env: 'ATP_POOL_TIMEOUT_SECS',
    doc: 'Wait for an Oracle connection.',
  }),
  unavailable('schema-config', optional(one(filled('path'))), {
    default: undefined,
    doc: 'Names of tables and columns.',
  }),
  unavailable('enable-wasm', flag, { default: false, doc: 'Run WebAssembly hooks.' }),
  unavailable('storage-hook-wasm-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'WebAssembly hook of the storage.',
  }),
] as const;
