import fs, { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { recordsIn, recordsOf } from './support/audit';
import { generate } from './support/bodies';
import { sample } from './support/scrape';

const headers = { authorization: 'Bearer S' };
const auth = { apiKey: 'S' };

let folder: string;
let file: string;
let gateway: RunningGateway | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smg-audit-'));
  file = join(folder, 'audit.log');
});
afterEach(async () => {
  jest.restoreAllMocks();
  await gateway?.close();
  gateway = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const flush = (running: RunningGateway): Promise<Answer> =>
  send(`${running.url}/flush_cache`, { method: 'POST', headers });

/** A sync that never answers. @returns a function that lets those that wait and all later ones through. */
function hangSync(): () => void {
  const real = fs.fdatasync.bind(fs);
  const held: (() => void)[] = [];
  let isHanging = true;
  const hanging = ((fd: number, done: (error: Error | null) => void) => {
    if (isHanging) held.push(() => real(fd, done));
    else real(fd, done);
  }) as typeof fs.fdatasync;
  jest.spyOn(fs, 'fdatasync').mockImplementation(hanging);
  return () => {
    isHanging = false;
    for (const go of held.splice(0)) go();
  };
}

describe('a healthy disk', () => {
  it('has every record; the log has the same ones', async () => {
    const running = (gateway = await startGateway({ auth, audit: { logFile: file } }));
    await flush(running);
    await send(`${running.url}/workers`);
    await until('all is there', () => recordsOf(file).length === 3);
    expect(recordsOf(file)).toMatchObject([
      { kind: 'decision', outcome: 'success', principal: 'shared' },
      { kind: 'action', outcome: 'success', principal: 'shared', status: 200 },
      { kind: 'decision', outcome: 'denied', principal: 'unauthenticated' },
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const inLog = recordsIn(running.logs).map(
      ({ level: _level, time: _time, target: _target, msg: _msg, ...record }) => record,
    );
    expect(inLog).toEqual(recordsOf(file));
  });

  it('a file that cannot be opened stops the start, and is named', async () => {
    const logFile = join(folder, 'missing', 'audit.log');
    await expect(startGateway({ auth, audit: { logFile } })).rejects.toThrow(
      `--audit-log-file ${JSON.stringify(logFile)}: ENOENT`,
    );
  });

  it('rotation under load: nothing lost, nothing twice, each in its file', async () => {
    const running = (gateway = await startGateway({ auth, audit: { logFile: file } }));
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const ids: string[] = [];
    const calls = async (): Promise<void> => {
      for (let i = 0; i < 60; i += 1) {
        const id = `r-${ids.length}`;
        ids.push(id);
        const answer = await send(`${running.url}/workers/no-such`, {
          method: 'DELETE',
          agent,
          headers: { ...headers, 'x-request-id': id },
        });
        expect(answer.status).toBe(400);
      }
    };
    const load = Promise.all(Array.from({ length: 8 }, calls));
    const parts = [file];
    for (let i = 1; i <= 4; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      renameSync(file, `${file}.${i}`);
      parts.push(`${file}.${i}`);
      await running.gateway.reload();
    }
    await load;
    agent.destroy();
    await running.close();
    gateway = undefined;
    const seen = parts
      .flatMap(recordsOf)
      .map(({ kind, request_id }) => `${String(kind)} ${String(request_id)}`);
    expect(seen.sort()).toEqual(ids.flatMap((id) => [`action ${id}`, `decision ${id}`]).sort());
  });

  it('an end writes the last action', async () => {
    const running = await startGateway({ auth, audit: { logFile: file } });
    await flush(running);
    await running.close();
    expect(recordsOf(file).map(({ kind }) => kind)).toEqual(['decision', 'action']);
  });
});

describe('--audit-required', () => {
  it('answers a control call only when its record is durable', async () => {
    const running = (gateway = await startGateway({
      auth,
      audit: { logFile: file, required: true },
    }));
    const real = fs.fdatasync.bind(fs);
    const order: string[] = [];
    jest.spyOn(fs, 'fdatasync').mockImplementation((fd, done) => {
      setTimeout(() => {
        real(fd, (error) => {
          order.push('durable');
          done(error);
        });
      }, 100);
    });
    const answer = await send(`${running.url}/workers`, { headers });
    order.push('answered');
    expect(answer.status).toBe(200);
    expect(order).toEqual(['durable', 'answered']);
  });

  it('[R79] a disk that hangs: control calls are refused, at once after the first; inference goes on', async () => {
    const engine = await new MockEngine({ apiKey: 'S' }).start();
    const running = (gateway = await startGateway(
      { auth, audit: { logFile: file, required: true } },
      { engines: [engine] },
    ));
    const release = hangSync();
    const startedAt = performance.now();
    const first = await flush(running);
    const waitedMs = performance.now() - startedAt;
    expect(first.status).toBe(503);
    expect(first.headers['x-smg-error-code']).toBe('audit_unavailable');
    expect(waitedMs).toBeGreaterThan(1_900);
    expect(waitedMs).toBeLessThan(3_000);
    expect(engine.counters.of('/flush_cache')).toBe(0);

    const againAt = performance.now();
    expect((await flush(running)).status).toBe(503);
    expect(performance.now() - againAt).toBeLessThan(500);
    // Strangers are told the same as ever, without waiting.
    expect((await send(`${running.url}/workers`)).status).toBe(401);
    for (let i = 0; i < 20; i += 1) {
      const body = generate();
      expect((await send(`${running.url}/generate`, { headers, body })).status).toBe(200);
    }

    release();
    await until('it is well again', async () => (await flush(running)).status === 200);
    expect(engine.counters.of('/flush_cache')).toBe(1);
    await engine.stop();
  });

  it('a full disk: refused, until there is room; every record is whole', async () => {
    const running = (gateway = await startGateway({
      auth,
      audit: { logFile: file, required: true },
    }));
    const real = fs.write.bind(fs) as (...given: unknown[]) => void;
    let room = 700;
    const full = jest.spyOn(fs, 'write').mockImplementation((...given: unknown[]) => {
      const [fd, bytes, from, length, at] = given as [number, Buffer, number, number, null];
      const done = given[5] as (error: Error | null, count?: number) => void;
      const count = Math.min(length, room);
      room -= count;
      if (count === 0) {
        const error = Object.assign(new Error('ENOSPC: no space left on device'), {
          code: 'ENOSPC',
        });
        setImmediate(() => {
          done(error);
        });
      } else real(fd, bytes, from, count, at, done);
    });
    let refused: Answer | undefined;
    await until('it is full', async () => {
      const answer = await send(`${running.url}/workers`, { headers });
      if (answer.status === 503) refused = answer;
      return refused !== undefined;
    });
    expect(refused?.headers['x-smg-error-code']).toBe('audit_unavailable');
    expect(readFileSync(file, 'utf8').length).toBe(700);
    full.mockRestore();
    await until('there is room', async () => {
      return (await send(`${running.url}/workers`, { headers })).status === 200;
    });
    await running.close();
    gateway = undefined;
    const ids = recordsOf(file).map(({ request_id }) => request_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(running.rawLogs.join('')).toContain('ENOSPC');
    expect(running.rawLogs.join('')).toContain('records are durable again');
  });
});

describe('[R79] a disk that hangs, where the audit is not required', () => {
  it('costs no call anything; what may wait is bounded; each record beyond is in the log', async () => {
    const engine = await new MockEngine({ apiKey: 'S' }).start();
    const running = (gateway = await startGateway(
      { auth, audit: { logFile: file } },
      { engines: [engine] },
    ));
    const release = hangSync();
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    const CALLS = 4_200;
    let left = CALLS;
    let slowestMs = 0;
    const strangers = async (): Promise<void> => {
      while (left-- > 0) {
        const startedAt = performance.now();
        expect((await send(`${running.url}/workers`, { agent })).status).toBe(401);
        slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: 16 }, strangers));
    agent.destroy();
    expect(slowestMs).toBeLessThan(1_500);
    const page = await running.metrics();
    expect(sample(page, 'smg_audit_queue_records')).toBe(4_096);
    expect(sample(page, 'smg_audit_records_lost_total', { sink: 'file' })).toBe(CALLS - 4_096);
    const lost = running.logs.filter((line) => line['lost_by'] === 'file');
    expect(lost).toHaveLength(CALLS - 4_096);
    expect(lost[0]).toMatchObject({ level: 'error', principal: 'unauthenticated' });
    const warnings = running.logs.filter((line) => String(line['msg']).includes('not kept'));
    expect(warnings).toHaveLength(1);

    const body = generate();
    expect((await send(`${running.url}/generate`, { headers, body })).status).toBe(200);
    expect((await flush(running)).status).toBe(200);

    release();
    await until('the rest is written', () => recordsOf(file).length === 4_096);
    await engine.stop();
  });

  it('does not keep the gateway from ending', async () => {
    const running = await startGateway({ auth, audit: { logFile: file } });
    const release = hangSync();
    await flush(running);
    const startedAt = performance.now();
    await running.close();
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    const lost = running.logs.filter((line) => line['lost_by'] === 'file');
    expect(lost.map(({ kind }) => kind)).toEqual(['decision', 'action']);
    release();
  });
});
