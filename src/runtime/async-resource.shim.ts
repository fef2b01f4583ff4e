import { AsyncResource } from 'node:async_hooks';

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

const SAMPLE_CALLS = 50;
/** A bind this slow (Node 20: about 10 µs) is the one that builds deprecated accessors. */
const SLOW_MICROS_PER_CALL = 2;

/**
 * `AsyncResource.prototype.bind` of older Node versions defines deprecated accessors on every bound
 * function, which costs about 10 µs; Fastify's body parsing and Nest's interceptor runner call it on
 * every request. This equivalent keeps the async context and defines nothing.
 */
function leanBind(this: AsyncResource, fn: AnyFunction, thisArg?: unknown): AnyFunction {
  if (typeof fn !== 'function') throw new TypeError('AsyncResource.bind needs a function');
  // eslint-disable-next-line @typescript-eslint/no-this-alias -- the bound function has its own `this`
  const resource = this;
  if (thisArg !== undefined) {
    return (...args) => resource.runInAsyncScope(fn, thisArg, ...args);
  }
  return function bound(this: unknown, ...args) {
    return resource.runInAsyncScope(fn, this, ...args);
  };
}

function microsPerBind(): number {
  const resource = new AsyncResource('smg.probe');
  const from = process.hrtime.bigint();
  for (let call = 0; call < SAMPLE_CALLS; call += 1) resource.bind(() => undefined);
  return Number(process.hrtime.bigint() - from) / 1000 / SAMPLE_CALLS;
}

/**
 * Installs {@link leanBind} where the native bind is slow.
 * @returns whether it was installed.
 */
export function installAsyncResourceShim(isSlow = microsPerBind() > SLOW_MICROS_PER_CALL): boolean {
  if (!isSlow) return false;
  AsyncResource.prototype.bind = leanBind as typeof AsyncResource.prototype.bind;
  return true;
}
