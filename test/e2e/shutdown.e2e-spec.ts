import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { MockEngine } from '@smg/testing';
import { open, send } from '../support/http';
import { freePorts, startProgram, type RunningProgram } from '../support/program';
import { until } from '../support/until';
import { workersOf } from '../support/workers';

// The real program, ended by signals. Grace 3 s, so the settle window is 1.5 s.
const GRACE_SECS = 3;
const LIMIT_MS = (GRACE_SECS + 1) * 1000;

interface Scene {
  readonly program: RunningProgram;
  readonly engine: MockEngine;
  /** Of the extra health listener. */
  readonly healthUrl: string;
}

async function scene(tokens: number, test: (scene: Scene) => Promise<void>): Promise<void> {
  const engine = await new MockEngine({ tokens, tokenLatencyMs: 50 }).start();
  const [healthPort = 0] = await freePorts(1);
  const program = await startProgram(
    [
      ...['--worker-urls', engine.url, '--shutdown-grace-period-secs', String(GRACE_SECS)],
      ...['--health-check-port', String(healthPort)],
    ],
    { ready: 1 },
  );
  try {
    await test({ program, engine, healthUrl: `http://127.0.0.1:${healthPort}` });
  } finally {
    await program.kill();
    await engine.stop();
  }
}

/** Keeps asking, each time on a new connection, until a connection is refused. */
async function askUntilRefused(url: string): Promise<{ served: number; bad: string[] }> {
  const bad: string[] = [];
  let served = 0;
  for (;;) {
    try {
      const got = await send(`${url}/v1/models`);
      if (got.status === 200 && !got.aborted) served += 1;
      else bad.push(`${got.status} aborted ${got.aborted}`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // The kernel resets a connection it had taken on in the very instant the port closed.
      if (code !== 'ECONNREFUSED' && code !== 'ECONNRESET') bad.push(String(code));
      return { served, bad };
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface Watched {
  text(): string;
  readonly closed: Promise<unknown>;
  isWhole(): boolean;
}

async function stream(url: string): Promise<Watched> {
  const { incoming } = await open(`${url}/generate`, { body: { text: 'x', stream: true } });
  let text = '';
  incoming.on('data', (part: Buffer) => (text += part.toString()));
  await once(incoming, 'data');
  const closed = new Promise((resolve) => incoming.once('close', resolve));
  return { text: () => text, closed, isWhole: () => incoming.complete };
}

describe('SIGTERM', () => {
  it('[R57][R59] readiness turns first, new connections are served in the settle window, a stream finishes, idle sockets do not hold it, exit 0 before the grace', async () => {
    await scene(45, async ({ program, healthUrl }) => {
      const idle: Socket[] = [];
      const agent = new Agent({ keepAlive: true });
      for (let i = 0; i < 5; i += 1) idle.push(connect(program.port, '127.0.0.1'));
      await send(`${program.url}/health`, { agent });
      const running = await stream(program.url);
      const from = performance.now();
      program.child.kill('SIGTERM');
      await until('readiness is 503', async () => {
        const got = await send(`${program.url}/readiness`);
        return got.status === 503 && got.json['reason'] === 'draining';
      });
      expect((await send(`${program.url}/liveness`)).status).toBe(200);
      await until('the health listener says so too', async () => {
        const got = await send(`${healthUrl}/readiness`);
        return got.status === 503 && got.json['reason'] === 'draining';
      });
      expect((await send(`${healthUrl}/liveness`)).status).toBe(200);
      const { served, bad } = await askUntilRefused(program.url);
      const refusedAfter = performance.now() - from;
      expect(bad).toEqual([]);
      expect(served).toBeGreaterThan(10);
      expect(refusedAfter).toBeGreaterThan(1300);
      expect(await program.ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - from).toBeLessThan(LIMIT_MS);
      await running.closed;
      expect(running.text()).toContain('[DONE]');
      expect(running.isWhole()).toBe(true);
      expect(program.output()).toContain('drained: every request was finished');
      agent.destroy();
      for (const socket of idle) socket.destroy();
    });
  });
});

describe('the end', () => {
  it('[R59] a stream that never ends is cut at the grace, not finished cleanly: exit 0 within grace + 1 s, the engine is left', async () => {
    await scene(100_000, async ({ program, engine }) => {
      const running = await stream(program.url);
      const from = performance.now();
      program.child.kill('SIGTERM');
      expect(await program.ended).toEqual({ code: 0, signal: null });
      const took = performance.now() - from;
      expect(took).toBeGreaterThan(GRACE_SECS * 1000 - 200);
      expect(took).toBeLessThan(LIMIT_MS + 500);
      await running.closed;
      expect(running.text()).not.toContain('[DONE]');
      expect(running.isWhole()).toBe(false);
      expect(program.output()).toContain('the grace period is over; unfinished requests cut: 1');
      await until('the engine lost its client', () => engine.counters.inFlight === 0);
    });
  });

  it('SIGINT drains as well, and a second signal of either kind changes nothing: the stream goes on until the grace, exit 0', async () => {
    await scene(45, async ({ program }) => {
      const running = await stream(program.url);
      program.child.kill('SIGINT');
      program.child.kill('SIGINT');
      program.child.kill('SIGTERM');
      expect(await program.ended).toEqual({ code: 0, signal: null });
      await running.closed;
      expect(running.text()).toContain('[DONE]');
      expect(program.output()).not.toMatch(/unhandled|uncaught/i);
    });
  });

  it('[R59] nothing in flight: exit 0 after the settle window, whatever the workers do', async () => {
    await scene(1, async ({ program, engine }) => {
      const workers = workersOf(program.url);
      const other = await new MockEngine().start();
      const deaf = await new MockEngine().start();
      deaf.behave({ cut: { how: 'hang', at: 'request' } });
      try {
        // One drains for a minute, one is being registered and hangs, one was never there.
        const id = await workers.added({ url: other.url, health: { drain_settle_secs: 60 } });
        await workers.remove(id);
        for (const url of [deaf.url, 'http://127.0.0.1:9']) {
          expect((await send(`${program.url}/workers`, { body: { url } })).status).toBe(202);
        }
        engine.behave({ route: '/health', cut: { how: 'hang', at: 'request' } });
        await until('the deaf one was asked', () => deaf.counters.received > 0);
        const from = performance.now();
        program.child.kill('SIGTERM');
        expect(await program.ended).toEqual({ code: 0, signal: null });
        expect(performance.now() - from).toBeLessThan(LIMIT_MS - 500);
      } finally {
        await Promise.all([other.stop(), deaf.stop()]);
      }
    });
  });
});
