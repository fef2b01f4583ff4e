import { Logger } from 'nestjs-pino';
import { type Logger as Pino } from 'pino';

/** Prefix of every `target`. */
const ROOT = 'smg';
/** Longest text taken for a context; what is longer, or has a line break, is a stack or a value. */
const CONTEXT_LIMIT = 100;

/** Nest's own narration of its start: useful when something does not resolve, noise otherwise. */
const NEST_CONTEXTS: ReadonlySet<unknown> = new Set([
  'NestFactory',
  'NestApplication',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
]);

/** Where Nest logs, with its stack, what it then throws to whoever starts the application; they say it. */
const START_FAILURES = 'ExceptionHandler';

const isContext = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= CONTEXT_LIMIT && !value.includes('\n');

/**
 * Nest's LoggerService over the gateway's pino, by way of nestjs-pino. Its middleware is left out:
 * it would bind a child logger to every request.
 */
export class GatewayLogger extends Logger {
  constructor(root: Pino) {
    // nestjs-pino's PinoLogger adds the request's child logger to these same methods; without its
    // middleware there is none, and the root does.
    super(root as unknown as ConstructorParameters<typeof Logger>[0], { renameContext: 'target' });
  }

  override verbose(message: unknown, ...params: unknown[]): void {
    super.verbose(message, ...targeted(params));
  }

  override debug(message: unknown, ...params: unknown[]): void {
    super.debug(message, ...targeted(params));
  }

  override log(message: unknown, ...params: unknown[]): void {
    if (NEST_CONTEXTS.has(params.at(-1))) this.debug(message, ...params);
    else super.log(message, ...targeted(params));
  }

  override warn(message: unknown, ...params: unknown[]): void {
    super.warn(message, ...targeted(params));
  }

  override error(message: unknown, ...params: unknown[]): void {
    if (params.at(-1) === START_FAILURES) this.debug(message, ...params);
    else super.error(message, ...targeted(params));
  }

  override fatal(message: unknown, ...params: unknown[]): void {
    super.fatal(message, ...targeted(params));
  }
}

/** `smg`, `smg::x` and `smg_x` (a target the contract names, such as `smg_rl`) stay as they are. */
function isTarget(context: string): boolean {
  return /^smg(?:$|::|_)/.test(context);
}

/** Nest passes the context last; it becomes `smg::<context>`, or `smg` when there is none. */
function targeted(params: readonly unknown[]): unknown[] {
  const last = params.at(-1);
  if (!isContext(last)) return [...params, ROOT];
  const target = isTarget(last) ? last : `${ROOT}::${last}`;
  return [...params.slice(0, -1), target];
}
