import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { installAsyncResourceShim } from './async-resource.shim';

describe('the AsyncResource.bind replacement', () => {
  const native = Object.getOwnPropertyDescriptor(AsyncResource.prototype, 'bind')!;
  afterEach(() => {
    Object.defineProperty(AsyncResource.prototype, 'bind', native);
  });

  it('leaves a fast native bind alone', () => {
    expect(installAsyncResourceShim(false)).toBe(false);
    expect(Object.getOwnPropertyDescriptor(AsyncResource.prototype, 'bind')).toEqual(native);
  });

  it('runs the function in the async context of its creation', () => {
    installAsyncResourceShim(true);
    const storage = new AsyncLocalStorage<string>();
    const read = storage.run('inside', () => AsyncResource.bind(() => storage.getStore()));
    expect(storage.run('outside', () => read())).toBe('inside');
  });

  it('passes arguments, the result and the receiver through', () => {
    installAsyncResourceShim(true);
    const resource = new AsyncResource('test');
    const sum = resource.bind(function (this: { base: number }, left: number, right: number) {
      return this.base + left + right;
    });
    expect(sum.call({ base: 1 }, 2, 3)).toBe(6);
    // The receiver argument is deprecated and missing from the types, but callers of old exist.
    const bind = resource.bind.bind(resource) as unknown as (
      fn: (this: { base: number }, extra: number) => number,
      thisArg: { base: number },
    ) => (extra: number) => number;
    const fixed = bind(
      function (extra) {
        return this.base + extra;
      },
      { base: 10 },
    );
    expect(fixed(5)).toBe(15);
  });

  it('refuses what is not a function', () => {
    installAsyncResourceShim(true);
    expect(() => new AsyncResource('test').bind(1 as never)).toThrow(TypeError);
  });
});
