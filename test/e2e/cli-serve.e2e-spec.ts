import { createServer, type AddressInfo, type Server } from 'node:net';
import { send } from '../support/http';
import { runProgram } from '../support/program';
import { until } from '../support/until';
import {
  FakeEngines,
  MOCK_ENGINE,
  spawnServe,
  untilSaid,
  type Serving,
} from './support/fake-engines';

let engines: FakeEngines;
let serving: Serving | undefined;
beforeEach(() => {
  engines = new FakeEngines();
});
afterEach(async () => {
  await serving?.kill();
  serving = undefined;
  engines.dispose();
});

const fake = async (
  argv: readonly string[],
  options: Parameters<typeof spawnServe>[1] = {},
): Promise<Serving> =>
  (serving = await spawnServe(['--engine-command', engines.command, ...argv], options));

const two = ['--data-parallel-size', '2'];

describe('smg serve: engines and gateway together', () => {
  it('starts mock engines, serves through both, and ends with them', async () => {
    const running = (serving = await spawnServe([
      ...['--engine-command', MOCK_ENGINE, ...two, '--worker-host', '0.0.0.0'],
      ...['--router-policy', 'round_robin', '--router-enable-rl'],
      ...['--served-model-name', 'nick', '--tokens', '2'],
    ]));
    await untilSaid(running, 'listening on 127.0.0.1');
    await until('both are workers', async () => {
      const answer = await send(`${running.url}/readiness`);
      return answer.json['healthy_workers'] === 2;
    });
    const used = new Set<unknown>();
    for (let i = 0; i < 4; i += 1) {
      const answer = await send(`${running.url}/v1/chat/completions`, {
        body: { model: 'nick', messages: [{ role: 'user', content: 'hi' }] },
      });
      expect(answer.status).toBe(200);
      used.add(answer.headers['x-smg-routed-worker-id']);
    }
    expect(used.size).toBe(2);
    expect([...used].every((url) => String(url).startsWith('http://127.0.0.1:'))).toBe(true);
    expect((await send(`${running.url}/v1/rl/workers`)).json['total']).toBe(2);
    running.child.kill('SIGTERM');
    expect(await running.ended).toEqual({ code: 143, signal: null });
    for (const url of used) await expect(fetch(`${String(url)}/health`)).rejects.toThrow();
    // Logs are JSON; what engines print is not among them.
    for (const line of running.stdout().trim().split('\n'))
      expect(() => JSON.parse(line)).not.toThrow();
    expect(running.stderr()).toMatch(/^\[engine [01]\] \{"event":"listening"/m);
  });

  it('gives each engine its arguments as they are, an address, and its GPUs; no secret of ours', async () => {
    const running = await fake(
      [...two, '--odd=a b', '--tp-size', '2', '--', '--port', '1', '--host', 'x'],
      {
        env: {
          CUDA_VISIBLE_DEVICES: '7, 5,GPU-a,3',
          SMG_ADMIN_TOKEN: 't',
          CONTROL_PLANE_API_KEYS: '',
        },
      },
    );
    await untilSaid(running, 'listening on');
    const notes = engines.notes();
    expect(notes.map(({ gpus }) => gpus)).toEqual(['7,5', 'GPU-a,3']);
    const own = ['--odd=a b', '--tp-size', '2', '--port', '1', '--host', 'x'];
    for (const { args, port, env } of notes) {
      expect(args).toEqual([...own, '--host', '127.0.0.1', '--port', String(port)]);
      expect(env).toContain('PYTHONUNBUFFERED');
      expect(env).not.toContain('SMG_ADMIN_TOKEN');
    }
    expect(notes[1]!.port - notes[0]!.port).toBeGreaterThanOrEqual(1);
  });

  it('runs the module of the backend with the python3 of the PATH, once it is known to be there', async () => {
    const running = (serving = await spawnServe(['--backend', 'sglang', '--model-path', 'm'], {
      env: { PATH: `${engines.python()}:${process.env['PATH'] ?? ''}` },
    }));
    await untilSaid(running, 'listening on');
    const [{ args, port }] = engines.notes() as [ReturnType<FakeEngines['notes']>[0]];
    expect(args).toEqual([
      ...['-m', 'sglang.launch_server', '--model-path', 'm'],
      ...['--host', '127.0.0.1', '--port', String(port)],
    ]);
  });

  it('prefixes lines by engine, also one that never ends', async () => {
    const running = await fake(two);
    await untilSaid(running, 'listening on');
    running.child.kill('SIGTERM');
    await running.ended;
    for (const [index, { port }] of engines.notes().entries()) {
      const lines = running.stderr().split('\n');
      expect(lines).toContain(`[engine ${index}] out of ${port}`);
      expect(lines).toContain(`[engine ${index}] err of ${port}`);
      expect(lines).toContain(`[engine ${index}] half a line, `);
    }
  });

  it('passes over ports that are taken', async () => {
    const blocker: Server = createServer();
    await new Promise<void>((done) => blocker.listen(0, '127.0.0.1', done));
    const { port } = blocker.address() as AddressInfo;
    try {
      const running = await fake(['--worker-base-port', String(port)]);
      await untilSaid(running, 'listening on');
      expect(engines.notes()[0]!.port).toBeGreaterThan(port);
    } finally {
      blocker.close();
    }
  });
});

describe('smg serve: what goes wrong', () => {
  it('a gateway port that is taken: no engine is started', async () => {
    const blocker = createServer();
    await new Promise<void>((done) => blocker.listen(0, '127.0.0.1', done));
    const { port } = blocker.address() as AddressInfo;
    try {
      const running = await fake(['--port', String(port)]);
      expect((await running.ended).code).toBe(1);
      expect(running.stderr()).toContain(`error: --port ${port}: cannot be listened on`);
      expect(engines.notes()).toEqual([]);
    } finally {
      blocker.close();
    }
  });

  it('an engine that crashes at the start ends everything with code 1', async () => {
    const running = await fake([...two, '--crash-after', '300', '--ready-after', '60000']);
    expect((await running.ended).code).toBe(1);
    expect(running.stderr()).toMatch(
      /error: engine [01] \(http:\S+\) ended before all were ready: exit code 7/,
    );
    expect(engines.alive()).toEqual([]);
  });

  it('an engine that is slow is waited for; one that is too slow is not', async () => {
    const running = await fake(['--ready-after', '2500']);
    await untilSaid(running, 'listening on');
    await running.kill();
    const late = await fake(['--ready-after', '60000', '--worker-startup-timeout', '1']);
    expect((await late.ended).code).toBe(1);
    expect(late.stderr()).toContain('error: not ready within --worker-startup-timeout 1: engine 0');
    await until('nobody is left', () => engines.alive().length === 0);
  });

  it('an engine that crashes while the gateway serves ends everything with code 1', async () => {
    const running = await fake([...two, '--with-child']);
    await untilSaid(running, 'listening on');
    const [first] = engines.notes();
    await fetch(`http://127.0.0.1:${first!.port}/crash`).catch(() => undefined);
    expect((await running.ended).code).toBe(1);
    expect(running.stdout()).toContain('ended: exit code 11');
    await until('nobody is left', () => engines.alive().length === 0);
  });

  it('--engine-exit continue goes on until the last one is gone', async () => {
    const running = await fake([...two, '--engine-exit', 'continue']);
    await untilSaid(running, 'listening on');
    const [first, second] = engines.notes();
    await fetch(`http://127.0.0.1:${first!.port}/crash`).catch(() => undefined);
    await untilSaid(running, 'ended: exit code 11; going on without it');
    expect((await send(`${running.url}/liveness`)).status).toBe(200);
    await fetch(`http://127.0.0.1:${second!.port}/crash`).catch(() => undefined);
    expect((await running.ended).code).toBe(1);
  });

  it.each([
    [['--connection-mode', 'grpc'], '--connection-mode: grpc is not available in this version'],
    [['--connection-mode', 'zmq'], '--connection-mode: zmq is not available in this version'],
    [['--backend', 'trtllm'], '--backend: trtllm is not available in this version'],
    [['--router-polcy', 'x'], '--router-polcy: unknown flag; did you mean --router-policy?'],
    [['--router-port', '1'], '--router-port: is written --port'],
  ])('%j is refused with code 2', async (argv, text) => {
    const ended = await runProgram(['serve', ...argv]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(`error: ${text}`);
  });

  it('a program that is not there', async () => {
    const running = (serving = await spawnServe(['--engine-command', '/no/such/engine']));
    expect((await running.ended).code).toBe(1);
    expect(running.stderr()).toContain('/no/such/engine was not found');
  });

  it('a backend that is not installed', async () => {
    const running = (serving = await spawnServe(['--backend', 'vllm', '--model', 'm']));
    expect((await running.ended).code).toBe(1);
    expect(running.stderr()).toMatch(
      /error: (vllm is not installed for the python3|python3 was not found)/,
    );
  });
});

describe('smg serve: how it ends', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    '%s while engines start',
    async (signal, code) => {
      const running = await fake([...two, '--ready-after', '60000', '--with-child']);
      await until('they run', () => engines.pids().length === 4);
      running.child.kill(signal);
      expect((await running.ended).code).toBe(code);
      await until('nobody is left', () => engines.alive().length === 0);
    },
    45_000,
  );

  it('SIGINT twice while it serves: engines end, children included', async () => {
    const running = await fake(two);
    await untilSaid(running, 'listening on');
    running.child.kill('SIGINT');
    await untilSaid(running, 'SIGINT: draining');
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect(engines.alive()).toEqual([]);
  });

  it('SIGHUP reloads and ends nothing', async () => {
    const running = await fake([]);
    await untilSaid(running, 'listening on');
    running.child.kill('SIGHUP');
    expect((await send(`${running.url}/liveness`)).status).toBe(200);
  });

  it('SIGKILL leaves no engine behind', async () => {
    const running = await fake(two);
    await untilSaid(running, 'listening on');
    expect(engines.alive()).toHaveLength(2);
    await running.kill();
    await until('nobody is left', () => engines.alive().length === 0);
  });
});
