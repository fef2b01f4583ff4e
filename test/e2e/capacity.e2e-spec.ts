import { MockEngine } from '@smg/testing';
import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { send } from '../support/http';
import { freePorts, ROOT, startProgram } from '../support/program';
import { until } from '../support/until';
import { chat, chatStream } from './support/bodies';
import { rawPost } from './support/raw-client';

const CHAT = '/v1/chat/completions';

describe('a process near its limits', () => {
  it('[R54] 1,000 streams and a busy loop: /health on its own port stays under a second', async () => {
    const engine = new MockEngine({ keepRequests: 0 });
    await engine.start();
    const [healthPort = 0] = await freePorts(1);
    const program = await startProgram(
      [
        '--worker-urls',
        engine.url,
        '--health-check-port',
        String(healthPort),
        '--policy',
        'random',
      ],
      { ready: 1 },
    );
    const sockets: Socket[] = [];
    try {
      engine.behave({ route: CHAT, chunks: ['data: {"a":1}\n\n', { data: 'x', delayMs: 60_000 }] });
      for (let at = 0; at < 1_000; at += 1) {
        const socket = connect(program.port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.write(rawPost(CHAT, JSON.stringify(chatStream())));
        sockets.push(socket);
        if (at % 50 === 49) await new Promise(setImmediate);
      }
      await until('all streams run', () => engine.counters.inFlight >= 1_000, 15_000);
      // One large body after another keeps the main loop parsing: 20 MB of JSON each.
      const load = { isOn: true };
      const large = Buffer.from(
        JSON.stringify(chat({ model: 'nobody', pad: Array(4e6).fill(1234) })),
      );
      const loading = (async () => {
        while (load.isOn) await send(`${program.url}${CHAT}`, { body: large });
      })();
      const times: number[] = [];
      const end = performance.now() + 3_000;
      while (performance.now() < end) {
        const startedAt = performance.now();
        const answer = await send(`http://127.0.0.1:${healthPort}/health`);
        times.push(performance.now() - startedAt);
        expect(answer.status).toBe(200);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      load.isOn = false;
      await loading;
      times.sort((a, b) => a - b);
      expect(times.length).toBeGreaterThan(20);
      expect(times[Math.floor(times.length * 0.99)]).toBeLessThan(1_000);
    } finally {
      for (const socket of sockets) socket.destroy();
      await program.kill();
      await engine.stop();
    }
  }, 40_000);

  it('[R56] 256 open files, 400 connections: clean refusals, no crash, and it recovers', async () => {
    const engine = new MockEngine({ keepRequests: 0 });
    await engine.start();
    const [port = 0, metricsPort = 0] = await freePorts(2);
    const main = join(ROOT, 'dist/src/main.js');
    // The limit is the shell's to lower; the gateway replaces the shell.
    const child = spawn(
      'sh',
      ['-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, main].concat([
        ...['--host', '127.0.0.1', '--port', String(port), '--policy', 'random'],
        ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metricsPort)],
        ...['--worker-startup-check-interval', '1', '--worker-urls', engine.url],
      ]),
      { stdio: ['ignore', 'ignore', 'pipe'], cwd: ROOT },
    );
    let stderr = '';
    child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
    const ended = new Promise<void>((resolve) => child.once('close', resolve));
    const url = `http://127.0.0.1:${port}`;
    const sockets: Socket[] = [];
    try {
      await until(
        'it is ready',
        async () => {
          try {
            return (await send(`${url}/readiness`)).status === 200;
          } catch {
            return false;
          }
        },
        20_000,
      );
      engine.behave({ route: CHAT, chunks: ['data: {"a":1}\n\n', { data: 'x', delayMs: 60_000 }] });
      const texts: string[] = [];
      for (let at = 0; at < 400; at += 1) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => undefined);
        texts.push('');
        socket.on('data', (data) => (texts[at] = (texts[at] ?? '') + data.toString('latin1')));
        socket.write(rawPost(CHAT, JSON.stringify(chatStream())));
        sockets.push(socket);
        if (at % 20 === 19) await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const served = () => texts.filter((text) => text.startsWith('HTTP/1.1 200')).length;
      const refused = () => texts.filter((text) => text.startsWith('HTTP/1.1 503')).length;
      await until('some are served and some refused', () => served() > 30 && refused() > 10);
      for (const text of texts) {
        expect(text === '' || /^HTTP\/1\.1 (200|503) /.test(text)).toBe(true);
        if (text.startsWith('HTTP/1.1 503')) {
          expect(text).toContain('"connection_limit_reached"');
          expect(text).toMatch(/retry-after: 1/i);
        }
      }
      expect(child.exitCode).toBeNull();
      for (const socket of sockets) socket.destroy();
      engine.behaveNormally();
      await until('it serves again', async () => {
        try {
          return (await send(`${url}${CHAT}`, { body: chat() })).status === 200;
        } catch {
          return false;
        }
      });
      expect(stderr).not.toMatch(/uncaught|EMFILE/i);
    } finally {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
      await ended;
      await engine.stop();
    }
  }, 40_000);
});
