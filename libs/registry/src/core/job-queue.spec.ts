import { FakeClock } from '@smg/testing';
import { JobQueue, JobSuperseded, type JobType } from './job-queue';
import { testClock } from '../../test/support';

interface Held {
  readonly signal: AbortSignal;
  finish(): void;
  fail(message: string): void;
}

function queue(limits = { capacity: 10, concurrency: 2 }) {
  const time = new FakeClock(1_000_000);
  const subject = new JobQueue(testClock(time), limits);
  const running = new Map<string, Held>();
  const settled: [string, unknown][] = [];
  const submit = (name: string, key = name, type: JobType = 'AddWorker') =>
    subject.submit({
      type,
      key,
      url: key,
      run: (signal) =>
        new Promise((resolve, reject) => {
          running.set(name, { signal, finish: resolve, fail: (it) => reject(new Error(it)) });
          signal.addEventListener('abort', () => reject(new Error('call aborted')));
        }),
      settled: (error) => settled.push([name, error]),
    });
  const flush = () => time.advanceAsync(0);
  return { subject, time, running, settled, submit, flush };
}

describe('JobQueue', () => {
  it('shows a job from submission to success, then nothing', async () => {
    const { subject, submit, running, flush } = queue({ capacity: 10, concurrency: 1 });
    submit('a');
    submit('b');
    expect(subject.status('a')).toEqual({
      job_type: 'AddWorker',
      worker_url: 'a',
      status: 'processing',
      timestamp: 1000,
    });
    expect(subject.status('b')?.status).toBe('pending');
    running.get('a')?.finish();
    await flush();
    expect(subject.status('a')).toBeUndefined();
    expect(subject.status('b')?.status).toBe('processing');
  });

  it('keeps a failure for five minutes and then says so', async () => {
    const { subject, submit, running, flush, time } = queue();
    const expired: string[] = [];
    subject.onExpired((key) => expired.push(key));
    submit('a');
    running.get('a')?.fail('no engine');
    await flush();
    expect(subject.status('a')).toMatchObject({ status: 'failed', message: 'no engine' });
    time.advance(299_000);
    expect(subject.status('a')?.status).toBe('failed');
    time.advance(61_000);
    expect(subject.status('a')).toBeUndefined();
    expect(expired).toEqual(['a']);
    expect(time.pending).toBe(0);
  });

  it('runs jobs of one key one after the other, others beside them', () => {
    const { submit, running } = queue();
    submit('first', 'k');
    submit('second', 'k');
    submit('other');
    expect([...running.keys()]).toEqual(['first', 'other']);
  });

  it('never runs more than its concurrency, and refuses what it cannot hold', async () => {
    const { submit, running, flush } = queue({ capacity: 1, concurrency: 1 });
    expect(submit('a')).toBeUndefined();
    expect(submit('b')).toBeUndefined();
    expect(submit('c')).toBe('full');
    running.get('a')?.finish();
    await flush();
    expect([...running.keys()]).toEqual(['a', 'b']);
    expect(submit('d')).toBeUndefined();
  });

  it('supersedes waiting and running jobs of a kind without calling them failed', async () => {
    const { subject, submit, running, settled, flush } = queue();
    submit('running', 'k');
    submit('waiting', 'k');
    submit('removal', 'k', 'RemoveWorker');
    subject.supersede('k', ['AddWorker']);
    await flush();
    expect(settled.map(([name, error]) => [name, error instanceof JobSuperseded])).toEqual([
      ['waiting', true],
      ['running', true],
    ]);
    expect(running.has('removal')).toBe(true);
    expect(subject.status('k')?.job_type).toBe('RemoveWorker');
  });

  it('goes on after a job that throws at once', async () => {
    const { subject, submit, running, flush } = queue({ capacity: 10, concurrency: 1 });
    subject.submit({
      type: 'UpdateWorker',
      key: 'x',
      url: 'x',
      run: () => {
        throw new Error('at once');
      },
    });
    submit('next');
    await flush();
    expect(subject.status('x')?.message).toBe('at once');
    expect(running.has('next')).toBe(true);
  });

  it('ends everything on close and takes nothing more', async () => {
    const { subject, submit, running, settled, flush, time } = queue({
      capacity: 9,
      concurrency: 1,
    });
    submit('a');
    submit('b');
    subject.close();
    await flush();
    expect(running.get('a')?.signal.aborted).toBe(true);
    expect(settled).toHaveLength(2);
    expect(submit('c')).toBe('closed');
    expect(time.pending).toBe(0);
  });
});
