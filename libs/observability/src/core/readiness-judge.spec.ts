import { type WorkerView } from '@smg/plugin-api';
import { ProcessLifecycle } from './process-lifecycle';
import { judgeReadiness } from './readiness-judge';

const worker = (status: string): WorkerView => ({ status }) as unknown as WorkerView;
const READY = worker('ready');

describe('judgeReadiness', () => {
  it('needs one ready worker', () => {
    const lifecycle = new ProcessLifecycle();
    expect(judgeReadiness(lifecycle, [], []).reason).toBe('insufficient healthy workers');
    expect(judgeReadiness(lifecycle, [worker('draining')], []).reason).toBeDefined();
    expect(judgeReadiness(lifecycle, [READY, worker('failed')], [])).toMatchObject({
      reason: undefined,
      healthyWorkers: 1,
      totalWorkers: 2,
    });
  });

  it('asks extensions, and takes a throw for a no', () => {
    const lifecycle = new ProcessLifecycle();
    const no = { name: 'pd', check: () => 'no decode worker' };
    const broken = {
      name: 'b',
      check: (): never => {
        throw new Error('secret');
      },
    };
    expect(judgeReadiness(lifecycle, [READY], [no, broken]).reason).toBe('no decode worker');
    expect(judgeReadiness(lifecycle, [READY], [broken]).reason).toBe("readiness check 'b' failed");
  });

  it('says draining before anything else', () => {
    const lifecycle = new ProcessLifecycle();
    let told = 0;
    lifecycle.onDraining(() => told++);
    lifecycle.beginDraining();
    lifecycle.beginDraining();
    expect(told).toBe(1);
    expect(judgeReadiness(lifecycle, [], [{ name: 'x', check: () => 'x' }]).reason).toBe(
      'draining',
    );
  });
});
