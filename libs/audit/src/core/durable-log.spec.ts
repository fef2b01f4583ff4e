import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '@smg/testing';
import { type AuditClock } from './audit-clock';
import { type AuditFile } from './audit-file';
import { DURABILITY_BOUND_MS, DurableLog } from './durable-log';

/** A disk in memory: what was appended, how much of it is durable, and how it misbehaves. */
class FakeFile implements AuditFile {
  content = '';
  durable = '';
  appends = 0;
  syncs = 0;
  isClosed = false;
  /** Bytes it still has room for. */
  room = Infinity;
  /** Most bytes one append takes. */
  atOnce = Infinity;
  syncError: Error | undefined;
  isHanging = false;

  constructor(readonly isTorn = false) {}

  async append(bytes: Buffer): Promise<number> {
    this.appends += 1;
    if (this.isHanging) return new Promise<number>(() => undefined);
    await turn();
    if (this.room === 0) throw new Error('ENOSPC');
    const count = Math.min(bytes.length, this.room, this.atOnce);
    this.room -= count;
    this.content += bytes.subarray(0, count).toString();
    return count;
  }

  async sync(): Promise<void> {
    this.syncs += 1;
    await turn();
    if (this.syncError !== undefined) throw this.syncError;
    this.durable = this.content;
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

function setUp(file = new FakeFile(), bounds?: { records: number; bytes: number }) {
  const clock = new FakeClock(5000);
  const ports: AuditClock = {
    unixMs: clock.now,
    monotonicMs: clock.now,
    schedule: (run, ms) => {
      const id = clock.setTimeout(run, ms);
      return () => {
        clock.clearTimeout(id);
      };
    },
  };
  const lost: string[] = [];
  const failures: string[] = [];
  let recoveries = 0;
  const log = new DurableLog(
    file,
    {
      lost: (line) => lost.push(line),
      failed: (error) => failures.push((error as Error).message),
      recovered: () => (recoveries += 1),
    },
    ports,
    bounds,
  );
  return { file, clock, lost, failures, log, recoveries: () => recoveries };
}

/** Lets the fake disk work. */
async function settled(): Promise<void> {
  for (let i = 0; i < 40; i += 1) await turn();
}

const lines = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `{"n":${from + i}}\n`);

describe('a healthy disk', () => {
  it('says true only when the record is durable', async () => {
    const { file, log } = setUp();
    const kept = log.append('a\n').then((isDurable) => [isDurable, file.durable]);
    expect(await kept).toEqual([true, 'a\n']);
    expect(log.waiting).toBe(0);
  });

  it('writes and syncs once for all that gathered meanwhile, in order', async () => {
    const { file, log } = setUp();
    const all = lines(500);
    const kept = await Promise.all(all.map((line) => log.append(line)));
    expect(kept).toEqual(all.map(() => true));
    expect(file.durable).toBe(all.join(''));
    expect([file.appends, file.syncs]).toEqual([2, 2]);
  });

  it('goes on where a short write stopped', async () => {
    const { file, log } = setUp();
    file.atOnce = 3;
    const all = lines(20);
    await Promise.all(all.map((line) => log.append(line)));
    expect(file.durable).toBe(all.join(''));
  });

  it('ends a torn last line before the first record', async () => {
    const { file, log } = setUp(new FakeFile(true));
    await log.append('a\n');
    await log.append('b\n');
    expect(file.durable).toBe('\na\nb\n');
  });

  it('takes a record that comes the moment another is done', async () => {
    const { file, log } = setUp();
    await log
      .append('a\n')
      .then(() => log.append('b\n'))
      .then(() => log.append('c\n'));
    expect(file.durable).toBe('a\nb\nc\n');
  });

  it('leaves no timer behind', async () => {
    const { clock, log } = setUp();
    await log.append('a\n');
    clock.advance(DURABILITY_BOUND_MS);
    expect(clock.pending).toBe(0);
  });
});

describe('a full disk', () => {
  it('keeps what fits, and the rest when there is room, each record whole and once', async () => {
    const { file, clock, log, lost, failures, recoveries } = setUp();
    file.room = 20;
    const all = lines(5);
    const kept = all.map((line) => log.append(line));
    await settled();
    // Two whole records and a piece of the third.
    expect(file.content).toBe('{"n":0}\n{"n":1}\n{"n"');
    expect(await Promise.all(kept.slice(0, 2))).toEqual([true, true]);
    expect(log.waiting).toBe(3);
    expect(failures).toEqual(['ENOSPC']);
    file.room = Infinity;
    clock.advance(100);
    expect(await Promise.all(kept)).toEqual(all.map(() => true));
    expect(file.durable).toBe(all.join(''));
    expect([lost, recoveries()]).toEqual([[], 1]);
  });

  it('answers false after the bound, at once from then on, and keeps the record all the same', async () => {
    const { file, clock, log } = setUp();
    file.room = 0;
    const first = log.append('a\n');
    for (let at = 0; at < DURABILITY_BOUND_MS; at += 100) {
      clock.advance(100);
      await settled();
    }
    expect(await first).toBe(false);
    expect(await log.append('b\n')).toBe(false);
    file.room = Infinity;
    clock.advance(1000);
    await settled();
    expect(file.durable).toBe('a\nb\n');
    expect(await log.append('c\n')).toBe(true);
  });

  it('tries again with growing pauses, of a second at most', async () => {
    const { file, clock, log } = setUp();
    file.room = 0;
    void log.append('a\n');
    await settled();
    for (let i = 0; i < 100; i += 1) {
      clock.advance(100);
      await settled();
    }
    expect(file.appends).toBeGreaterThan(8);
    expect(file.appends).toBeLessThan(16);
  });
});

describe('a disk that fails to sync', () => {
  it('writes everything again: a second sync may claim success for what is gone', async () => {
    const { file, clock, log } = setUp();
    file.syncError = new Error('EIO');
    const kept = [log.append('a\n'), log.append('b\n')];
    await settled();
    expect(log.waiting).toBe(2);
    file.syncError = undefined;
    clock.advance(1000);
    expect(await Promise.all(kept)).toEqual([true, true]);
    // The first stands there twice, which a reader can tell; neither is missing.
    expect(file.durable).toBe('a\na\nb\n');
  });

  it('adds one record per attempt, not the whole queue', async () => {
    const { file, clock, log } = setUp();
    file.syncError = new Error('EIO');
    for (const line of lines(100)) void log.append(line);
    await settled();
    const before = file.content.length;
    for (let i = 0; i < 5; i += 1) {
      clock.advance(1000);
      await settled();
    }
    expect(file.content.length - before).toBeLessThanOrEqual(100 * 8 + 5 * 8);
  });
});

describe('a disk that hangs', () => {
  it('holds as many records as may wait and reports the others as lost', async () => {
    const { file, log, lost } = setUp(new FakeFile(), { records: 3, bytes: 1000 });
    file.isHanging = true;
    const all = lines(5);
    const answers = all.map((line) => log.append(line));
    expect(await answers[4]).toBe(false);
    expect(lost).toEqual(all.slice(3));
    expect(log.waiting).toBe(3);
  });

  it('is bounded in bytes as well', () => {
    const { file, log, lost } = setUp(new FakeFile(), { records: 100, bytes: 20 });
    file.isHanging = true;
    for (const line of lines(5)) void log.append(line);
    expect([log.waiting, lost.length]).toEqual([2, 3]);
  });

  it('keeps nobody waiting longer than the bound', async () => {
    const { file, clock, log } = setUp();
    file.isHanging = true;
    const first = log.append('a\n');
    clock.advance(1000);
    const second = log.append('b\n');
    clock.advance(1000);
    expect(await first).toBe(false);
    clock.advance(1000);
    expect(await second).toBe(false);
    expect(await log.append('c\n')).toBe(false);
  });

  it('does not keep the end waiting; what is not durable is reported', async () => {
    const { file, clock, log, lost } = setUp();
    file.isHanging = true;
    void log.append('a\n');
    const closed = log.close();
    await clock.advanceAsync(DURABILITY_BOUND_MS);
    await closed;
    expect(lost).toEqual(['a\n']);
  });

  it('does not keep a reopening waiting; the file stays', async () => {
    const { file, clock, log } = setUp();
    file.isHanging = true;
    void log.append('a\n');
    const next = new FakeFile();
    const reopened = log.reopen(next).catch((error: unknown) => (error as Error).message);
    await clock.advanceAsync(DURABILITY_BOUND_MS);
    expect(await reopened).toBe('the file in use does not answer');
    expect([next.isClosed, file.isClosed]).toEqual([true, false]);
  });
});

describe('reopening', () => {
  it('writes to the old file what came before, to the new one what came after', async () => {
    const { file, log } = setUp();
    const next = new FakeFile();
    const early = [log.append('a\n'), log.append('b\n')];
    const reopened = log.reopen(next);
    const late = log.append('c\n');
    await reopened;
    expect([file.durable, file.isClosed]).toEqual(['a\nb\n', true]);
    expect(await Promise.all([...early, late])).toEqual([true, true, true]);
    expect(next.durable).toBe('c\n');
  });

  it('works while nothing is recorded', async () => {
    const { log } = setUp();
    const next = new FakeFile();
    await log.reopen(next);
    await log.append('a\n');
    expect(next.durable).toBe('a\n');
  });

  it('takes what a full disk did not over to the new file, whole', async () => {
    const { file, log } = setUp();
    file.room = 12;
    const kept = lines(3).map((line) => log.append(line));
    await settled();
    const next = new FakeFile();
    await log.reopen(next);
    expect(await Promise.all(kept)).toEqual([true, true, true]);
    expect(file.content).toBe('{"n":0}\n{"n"');
    expect(next.durable).toBe('{"n":1}\n{"n":2}\n');
  });

  it('refuses a second one while the first is under way', async () => {
    const { file, log } = setUp();
    file.isHanging = true;
    void log.append('a\n');
    void log.reopen(new FakeFile()).catch(() => undefined);
    const second = new FakeFile();
    await expect(log.reopen(second)).rejects.toThrow('being reopened already');
    expect(second.isClosed).toBe(true);
  });
});

describe('the end', () => {
  it('writes what is left and closes the file', async () => {
    const { file, log, lost } = setUp();
    const kept = lines(3).map((line) => log.append(line));
    await log.close();
    expect(await Promise.all(kept)).toEqual([true, true, true]);
    expect([file.durable, file.isClosed, lost]).toEqual([lines(3).join(''), true, []]);
  });

  it('reports what comes later, and what a full disk did not take', async () => {
    const { file, log, lost } = setUp();
    file.room = 0;
    void log.append('a\n');
    await settled();
    await log.close();
    expect(await log.append('b\n')).toBe(false);
    expect(lost).toEqual(['a\n', 'b\n']);
  });
});
