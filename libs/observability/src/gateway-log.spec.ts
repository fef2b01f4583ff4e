import { Logger } from '@nestjs/common';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flushLogs, GatewayLog, type LogLevel } from './gateway-log';

function record(level: LogLevel = 'info') {
  const lines: Record<string, unknown>[] = [];
  const log = new GatewayLog({
    level,
    destination: {
      write: (line) => {
        lines.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
  });
  return { log, lines };
}

describe('GatewayLog', () => {
  it("turns Nest's context into a target, and names levels", () => {
    const { log, lines } = record();
    log.logger.log('hello', 'registry');
    log.logger.warn('bare');
    log.logger.error('failed', 'Error: x\n    at y (z:1:1)', 'proxy');
    log.logger.log('as given', 'smg::audit');
    expect(lines).toEqual([
      { level: 'info', time: expect.any(Number), target: 'smg::registry', msg: 'hello' },
      { level: 'warn', time: expect.any(Number), target: 'smg', msg: 'bare' },
      expect.objectContaining({ level: 'error', target: 'smg::proxy', msg: 'failed' }),
      expect.objectContaining({ target: 'smg::audit' }),
    ]);
  });

  it("keeps Nest's narration for debug", () => {
    const quiet = record('info');
    quiet.log.logger.log('Mapped {/x, GET}', 'RouterExplorer');
    quiet.log.logger.warn('odd route', 'RouterExplorer');
    expect(quiet.lines.map((line) => line['msg'])).toEqual(['odd route']);
    const loud = record('debug');
    loud.log.logger.log('Mapped {/x, GET}', 'RouterExplorer');
    expect(loud.lines).toMatchObject([{ level: 'debug', target: 'smg::RouterExplorer' }]);
  });

  it('leaves what stops the start to whoever starts: Nest throws it after logging its stack', () => {
    const { log, lines } = record('info');
    log.logger.error(new Error('no such file'), 'ExceptionHandler');
    expect(lines).toEqual([]);
  });

  it("serves Nest's Logger, objects and errors included", () => {
    const { log, lines } = record();
    const before = Logger.overrideLogger.bind(Logger);
    before(log.logger);
    try {
      const logger = new Logger('rl');
      logger.log({ msg: 'rl.proxy', status: 200 });
      logger.error(new Error('boom'));
    } finally {
      before(false);
    }
    expect(lines[0]).toMatchObject({ target: 'smg::rl', msg: 'rl.proxy', status: 200 });
    expect(lines[1]).toMatchObject({ target: 'smg::rl', err: { message: 'boom' } });
  });

  it('masks fields that carry credentials', () => {
    const { log, lines } = record();
    log.logger.log({
      msg: 'x',
      api_key: 'canary',
      worker: { apiKey: 'canary', url: 'u' },
      headers: { authorization: 'Bearer canary' },
    });
    expect(JSON.stringify(lines)).not.toMatch(/canary/);
    expect(lines[0]).toMatchObject({ worker: { url: 'u' } });
  });

  it('escapes whatever a message holds', () => {
    const raw: string[] = [];
    const log = new GatewayLog({ destination: { write: (line) => void raw.push(line) } });
    log.logger.log('a\n"b"\u0000%o', 'x');
    expect(raw).toHaveLength(1);
    expect(raw[0]?.indexOf('\n')).toBe((raw[0]?.length ?? 0) - 1);
    expect((JSON.parse(raw[0] ?? '') as { msg: string }).msg).toBe('a\n"b"\u0000%o');
  });

  it('has written every line, logger and access lines in order, once flushed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'smg-log-'));
    const path = join(folder, 'log');
    const fd = openSync(path, 'a');
    const log = new GatewayLog({ destination: fd });
    try {
      for (let index = 0; index < 500; index++) {
        log.write(`{"n":${String(index * 2)}}\n`);
        log.pino.info({ n: index * 2 + 1 });
      }
      await flushLogs();
      const numbers = readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { n: number }).n);
      expect(numbers).toEqual(Array.from({ length: 1000 }, (_, index) => index));
      expect(log.droppedLines).toBe(0);
    } finally {
      await log.close();
      closeSync(fd);
      rmSync(folder, { recursive: true });
    }
  });

  it('accepts by level', () => {
    const { log } = record('warn');
    expect([log.accepts('debug'), log.accepts('info'), log.accepts('warn')]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
