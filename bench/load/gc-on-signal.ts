/**
 * Preloaded (`--expose-gc -r`) into the Node variants of the memory suite: SIGUSR2 collects, so that
 * resident memory shows what is held and not what has not been collected yet.
 */
process.on('SIGUSR2', () => {
  globalThis.gc?.();
});
