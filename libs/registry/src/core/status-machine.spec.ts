import { type WorkerStatus } from '@smg/protocol';
import { ProbeCounter } from './status-machine';

const LIMITS = { success: 2, failure: 3 };

/** Runs probes, `+` good and `-` bad, and returns where they lead. */
function run(start: WorkerStatus, probes: string, limits = LIMITS): WorkerStatus {
  const counter = new ProbeCounter();
  let status = start;
  for (const probe of probes) status = counter.take(status, probe === '+', limits);
  return status;
}

describe('status machine', () => {
  it.each<[WorkerStatus, string, WorkerStatus]>([
    ['pending', '+', 'pending'],
    ['pending', '++', 'ready'],
    ['pending', '+-+', 'pending'],
    ['pending', '-'.repeat(29), 'pending'],
    ['pending', '-'.repeat(30), 'failed'],
    ['pending', '+-'.repeat(15), 'failed'],
    ['ready', '--', 'ready'],
    ['ready', '--+--', 'ready'],
    ['ready', '---', 'not_ready'],
    ['not_ready', '+', 'not_ready'],
    ['not_ready', '++', 'ready'],
    ['not_ready', '-'.repeat(8), 'not_ready'],
    ['not_ready', '-'.repeat(9), 'failed'],
    ['ready', '-'.repeat(11), 'not_ready'],
    ['ready', '-'.repeat(12), 'failed'],
    ['failed', '-'.repeat(50), 'failed'],
    ['failed', '++', 'ready'],
    ['draining', '---', 'draining'],
    ['draining', '+++', 'draining'],
  ])('%s after %s is %s', (start, probes, end) => {
    expect(run(start, probes)).toBe(end);
  });

  it('treats a threshold of zero as one', () => {
    expect(run('ready', '-', { success: 0, failure: 0 })).toBe('not_ready');
    expect(run('not_ready', '+', { success: 0, failure: 0 })).toBe('ready');
  });
});
