import { PassThrough } from 'node:stream';
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

describe('EngineFleet', () => {
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
