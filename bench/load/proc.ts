import { readFileSync, readdirSync } from 'node:fs';

/**
 * What the kernel says about other processes, from /proc. Each process under test leads a process
 * group of its own, so its children (nginx workers) are found by group, not by parent.
 */

/** CPU time and resident memory can be read; false outside Linux. */
export const canReadProc = process.platform === 'linux';

/** Process ids of a group; empty when it is gone or /proc is not there. */
export function groupMembers(group: number): number[] {
  if (!canReadProc) return [];
  const members: number[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = read(`/proc/${name}/stat`);
    // The command name (field 2) may hold blanks and brackets: count fields after its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(fields[2]) === group) members.push(pid);
  }
  return members;
}

/** Nanoseconds of CPU (user and system) that all threads of these processes have used. */
export function cpuNanoseconds(pids: readonly number[]): number {
  let total = 0;
  for (const pid of pids) {
    for (const thread of threads(pid)) {
      // First field: time on the CPU, in ns. /proc/<pid>/schedstat alone shows the main thread only.
      const onCpu = Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]);
      if (Number.isFinite(onCpu)) total += onCpu;
    }
  }
  return total;
}

/** Resident memory of these processes, KiB; NaN when it cannot be read. */
export function residentKiB(pids: readonly number[]): number {
  let total = 0;
  for (const pid of pids) {
    const match = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`));
    if (match !== null) total += Number(match[1]);
  }
  return total === 0 ? Number.NaN : total;
}

/** Soft limit of open files, which children inherit; Infinity when unlimited or unknown. */
export function openFilesLimit(): number {
  const match = /^Max open files\s+(\d+)/m.exec(read('/proc/self/limits'));
  return match === null ? Number.POSITIVE_INFINITY : Number(match[1]);
}

function threads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
