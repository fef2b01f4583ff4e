import { Logger } from '@nestjs/common';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditEntry } from '@smg/plugin-api';
import { FakeMetrics } from '@smg/testing';
import { AuditMetrics } from './audit.metrics';
import { AuditRecorder } from './audit.recorder';
import { type AuditOptions } from './core/audit-options';

const ENTRY: AuditEntry = {
  kind: 'action',
  principal: { id: 'ci', method: 'api_key', role: 'admin' },
  httpMethod: 'POST',
  path: '/workers',
  outcome: 'success',
};

let folder: string;
beforeAll(() => {
  Logger.overrideLogger(false);
  folder = mkdtempSync(join(tmpdir(), 'smg-audit-'));
});
afterAll(() => {
  Logger.overrideLogger(true);
  rmSync(folder, { recursive: true, force: true });
});

function setUp(options: Partial<AuditOptions>, log: { wantsInfo?: boolean; fails?: boolean } = {}) {
  const lines: Record<string, unknown>[] = [];
  const metrics = new FakeMetrics();
  const recorder = new AuditRecorder(
    { disabled: false, required: false, ...options },
    {
      accepts: () => log.wantsInfo ?? true,
      write: (line) => {
        if (log.fails === true) throw new Error('closed');
        lines.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
    new AuditMetrics(metrics),
  );
  return { recorder, lines, metrics };
}

describe('without a file', () => {
  it('every record is a line of the log, whatever its level', async () => {
    const { recorder, lines, metrics } = setUp({}, { wantsInfo: false });
    await recorder.onModuleInit();
    expect(await recorder.record(ENTRY)).toBe(true);
    expect(lines).toMatchObject([
      { level: 'info', target: 'smg::audit', msg: 'control_plane_audit', principal: 'ci' },
    ]);
    expect(metrics.value('smg_audit_records_total', 'action', 'success')).toBe(1);
    expect([recorder.isOn, recorder.isRequired]).toEqual([true, false]);
    await recorder.reload();
    await recorder.onApplicationShutdown();
  });

  it('a log that throws loses the record, which is counted', async () => {
    const { recorder, metrics } = setUp({}, { fails: true });
    expect(await recorder.record(ENTRY)).toBe(false);
    expect(metrics.value('smg_audit_records_lost_total', 'log')).toBe(1);
  });

  it('nothing is recorded when it is disabled', async () => {
    const { recorder, lines, metrics } = setUp({ disabled: true, required: true });
    expect(await recorder.record(ENTRY)).toBe(true);
    expect([lines, metrics.series('smg_audit_records_total')]).toEqual([[], []]);
    expect([recorder.isOn, recorder.isRequired]).toEqual([false, false]);
  });
});

describe('with a file', () => {
  it('the file has every record; the log has them as its level says', async () => {
    const logFile = join(folder, 'level.log');
    for (const wantsInfo of [true, false]) {
      const { recorder, lines } = setUp({ logFile, required: true }, { wantsInfo });
      await recorder.onModuleInit();
      expect(await recorder.record(ENTRY)).toBe(true);
      expect(recorder.isRequired).toBe(true);
      expect(lines).toHaveLength(wantsInfo ? 1 : 0);
      await recorder.onApplicationShutdown();
    }
    const records = readFileSync(logFile, 'utf8').trimEnd().split('\n');
    expect(records.map((record) => JSON.parse(record) as unknown)).toMatchObject([
      { principal: 'ci' },
      { principal: 'ci' },
    ]);
  });

  it('goes on in a new file after a rotation', async () => {
    const logFile = join(folder, 'rotated.log');
    const { recorder } = setUp({ logFile });
    await recorder.onModuleInit();
    await recorder.record(ENTRY);
    renameSync(logFile, `${logFile}.1`);
    await recorder.record(ENTRY);
    await recorder.reload();
    await recorder.record(ENTRY);
    const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n').length;
    expect([linesOf(`${logFile}.1`), linesOf(logFile)]).toEqual([2, 1]);
    await recorder.onApplicationShutdown();
  });

  it('does not start, and stays in the file it has, when it cannot be opened', async () => {
    const logFile = join(folder, 'kept.log');
    const { recorder } = setUp({ logFile });
    await recorder.onModuleInit();
    renameSync(logFile, `${logFile}.1`);
    mkdirSync(logFile);
    await expect(setUp({ logFile }).recorder.onModuleInit()).rejects.toThrow('EISDIR');
    await expect(recorder.reload()).rejects.toThrow(`--audit-log-file "${logFile}": EISDIR`);
    expect(await recorder.record(ENTRY)).toBe(true);
    expect(readFileSync(`${logFile}.1`, 'utf8')).toContain('"principal":"ci"');
    await recorder.onApplicationShutdown();
  });

  it('a record after the end is an error line with all it says', async () => {
    const { recorder, lines, metrics } = setUp(
      { logFile: join(folder, 'ended.log') },
      { wantsInfo: false },
    );
    await recorder.onModuleInit();
    await recorder.onApplicationShutdown();
    expect(await recorder.record(ENTRY)).toBe(false);
    expect(lines).toMatchObject([{ level: 'error', lost_by: 'file', principal: 'ci' }]);
    expect(metrics.value('smg_audit_records_lost_total', 'file')).toBe(1);
    metrics.collect();
    expect(metrics.value('smg_audit_queue_records')).toBe(0);
  });
});
