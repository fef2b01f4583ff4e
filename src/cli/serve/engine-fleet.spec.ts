import { readdirSync, readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineFleet } from './engine-fleet';
import { type EnginePlan } from './engine.process';

/** Ends on nothing but SIGKILL. */
const STUBBORN = `process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000);`;

function fleetOf(scripts: readonly string[], endMs = 30_000) {
  const output = new PassThrough();
  const logs: string[] = [];
  const plans = scripts.map((script, index): EnginePlan => ({
    index,
    url: 'http://127.0.0.1:9',
    command: { file: process.execPath, args: ['-e', script] },
    env: { PATH: process.env['PATH'] },
  }));
  const log = (text: string): number => logs.push(text);
  const fleet = new EngineFleet(plans, { output, endMs, probeIntervalMs: 20, log });
  return { fleet, output, logs };
}

const pidIn = (log: string | undefined): number => Number(/pid (\d+)/.exec(log ?? '')?.[1]);

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Whether somebody still watches over the group of an engine. */
const isWatched = (pid: number): boolean =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((name) => {
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
        return words.includes('smg-engine-watch') && words.includes(String(pid));
      } catch {
        return false;
      }
    });

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries === 500) throw new Error(`in vain: ${what}`);
    await sleep(10);
  }
}

describe('EngineFleet', () => {
  it('lets go of a group that is gone while others go on', async () => {
    const { fleet, logs } = fleetOf(['setTimeout(() => {}, 300)', 'setInterval(() => {}, 1000)']);
    const [gone = 0, stays = 0] = logs.map(pidIn);
    await until('both are watched', () => isWatched(gone) && isWatched(stays));
    await until('the one that ended is not', () => !isWatched(gone));
    expect(isWatched(stays)).toBe(true);
    await fleet.stop();
    await until('nobody is', () => !isWatched(stays));
  });

  it('kills what does not end in time, and says so', async () => {
    const { fleet, output, logs } = fleetOf([STUBBORN, 'setInterval(() => {}, 1000)'], 100);
    await new Promise((up) => output.once('data', up));
    await Promise.all([fleet.stop(), fleet.stop()]);
    expect(logs.filter((line) => line.includes('is killed'))).toEqual([
      'engine 0 (http://127.0.0.1:9): did not end in time and is killed',
    ]);
    expect(logs.slice(0, 2).map(pidIn).some(isThere)).toBe(false);
  });

  it('names the engines that are late', async () => {
    const { fleet } = fleetOf(['setInterval(() => {}, 1000)']);
    await expect(fleet.untilReady(100)).rejects.toThrow(
      'not ready within --worker-startup-timeout 0.1: engine 0 (http://127.0.0.1:9)',
    );
    await fleet.stop();
  });

  it('an end by a signal is told', async () => {
    const { fleet } = fleetOf([
      'process.kill(process.pid, "SIGSEGV"); setInterval(() => {}, 1000)',
    ]);
    await expect(fleet.untilReady(20_000)).rejects.toThrow(
      'ended before all were ready: signal SIGSEGV',
    );
    await fleet.stop();
  });
});
