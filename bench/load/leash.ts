import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { serveParent } from './child-rpc';
import { nowMicros, sleep } from './clock';
import { type LeashStart, type LeashStarted } from './messages';

/**
 * Holds the processes under test. Programs such as nginx or the gateway do not watch who started
 * them; this small process does, and ends their whole group when the bench goes away, even by
 * SIGKILL. It is idle while a measurement runs.
 */

/** How long a group may take to end after SIGTERM. */
const GRACE_MS = 3_000;

const held = new Map<number, ChildProcess>();
/** Removed when the bench could not do it itself. */
let directory: string | undefined;

function start(request: LeashStart): Promise<LeashStarted> {
  const stdout = openSync(request.stdoutPath, 'a');
  const stderr = openSync(request.stderrPath, 'a');
  const spawnedAtUs = nowMicros();
  // Detached: leader of a group of its own, so the group can be measured and ended as one.
  const child = spawn(request.command, request.args, {
    stdio: ['ignore', stdout, stderr],
    cwd: request.cwd,
    detached: true,
  });
  closeSync(stdout);
  closeSync(stderr);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      const pid = child.pid!;
      held.set(pid, child);
      child.once('exit', () => held.delete(pid));
      resolve({ pid, spawnedAtUs });
    });
  });
}

async function stop(pid: number): Promise<void> {
  signalGroup(pid, 'SIGTERM');
  const deadline = Date.now() + GRACE_MS;
  while (groupAlive(pid) && Date.now() < deadline) await sleep(20);
  signalGroup(pid, 'SIGKILL');
}

function groupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}

async function stopAll(): Promise<void> {
  await Promise.all([...held.keys()].map((pid) => stop(pid)));
}

async function tidyUp(): Promise<void> {
  await stopAll();
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
}

function adopt(path: string): void {
  directory = path;
}

serveParent({ start, stop, adopt, alive: (pid: number) => held.has(pid) }, tidyUp);
