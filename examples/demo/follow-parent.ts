// Loaded before a child's own program. The child's stdin is a pipe held by the demo: when the demo
// is gone, however it went, the pipe ends, and so does the child.

/** Killed rather than exited: an orderly exit can hang in the runtime, and nobody is left to notice. */
const end = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

process.stdin.on('error', end);
process.stdin.on('end', end);
process.stdin.resume();
// The pipe alone must not keep the child running.
(process.stdin as { unref?: () => void }).unref?.();

export {};
