// Loaded before a child's own program. The child's stdin is a pipe held by the demo: when the demo
// is gone, however it went, the pipe ends, and so does the child.
process.stdin.on('error', () => process.exit(0));
process.stdin.on('end', () => process.exit(0));
process.stdin.resume();
// The pipe alone must not keep the child running.
(process.stdin as { unref?: () => void }).unref?.();

export {};
