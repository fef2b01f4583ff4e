/** What a promise, or a function, fails with. @throws Error when it does not. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests reach into errors of any shape
export async function rejection(promise: PromiseLike<unknown> | (() => unknown)): Promise<any> {
  try {
    await (typeof promise === 'function' ? promise() : promise);
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}
