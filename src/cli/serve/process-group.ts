import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Waits for its input to end. A line means that all is well; an end without one, that whoever held the
 * other end is gone, however it went: then the group is ended as `smg serve` would have ended it.
 */
const WATCH = `trap '' HUP INT TERM
read -r word && exit 0
kill -s TERM -- "-$1" 2>/dev/null || exit 0
i=0
while [ "$i" -lt "$2" ]; do
  kill -s 0 -- "-$1" 2>/dev/null || exit 0
  sleep 1
  i=$((i + 1))
done
kill -s KILL -- "-$1" 2>/dev/null`;

/** Seconds a group may take to end once it was asked to. */
export const GROUP_END_SECS = 30;

/** A process group that outlives neither its owner nor its use. */
export class ProcessGroup {
  private readonly watch: ChildProcess;
  private isGone = false;

  /** @param id of the group, which is that of the process it began with. */
  constructor(private readonly id: number) {
    this.watch = spawn('/bin/sh', ['-c', WATCH, 'smg-engine-watch', `${id}`, `${GROUP_END_SECS}`], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: '/usr/bin:/bin' },
    });
    // Without a shell the group is as safe as its owner; and it may be gone when it is told.
    this.watch.on('error', () => undefined);
    this.watch.stdin?.on('error', () => undefined);
  }

  /** Whether any process of the group is left. */
  get isAlive(): boolean {
    return this.signal(0);
  }

  /** @returns whether there was anybody to send it to. */
  signal(signal: NodeJS.Signals | 0): boolean {
    if (this.isGone) return false;
    try {
      process.kill(-this.id, signal);
      return true;
    } catch (error) {
      // EPERM: somebody is there who may not be signalled.
      if ((error as NodeJS.ErrnoException).code === 'EPERM') return true;
      this.release();
      return false;
    }
  }

  /** For a group that is gone: its number may soon be another's, so nobody is signalled any more. */
  release(): void {
    if (!this.isGone) this.watch.stdin?.end('\n');
    this.isGone = true;
  }
}
