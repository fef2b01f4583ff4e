import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, runProgram } from '../support/program';

const STACK = /\n\s+at .*\(|node_modules|\.js:\d+/;

type Result = Awaited<ReturnType<typeof runProgram>>;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'smg-cli-'));
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

describe('a command line that cannot work', () => {
  const CASES: [string, string[], string][] = [
    ['an unknown flag', ['--frobnicate'], '--frobnicate'],
    ['a misspelt flag', ['--polcy', 'random'], '--policy'],
    ['a port that is none', ['--port', 'http'], '--port'],
    ['a port out of range', ['--port', '0'], '--port'],
    ['a missing value', ['--api-key'], '--api-key'],
    ['an unknown policy', ['--policy', 'best'], '--policy'],
    ['half a TLS set-up', ['--tls-cert-path', 'x.pem'], '--tls-key-path'],
    ['an issuer without an audience', ['--jwt-issuer', 'https://idp'], '--jwt-audience'],
    ['a flag of a feature that is not built', ['--enable-mesh'], 'not available in this version'],
    ['service discovery', ['--service-discovery'], 'not available in this version'],
    ['a worker URL that is none', ['--worker-urls', 'localhost:8000'], '--worker-urls'],
    ['a config file that is not there', ['--config', '/nonexistent.json'], '/nonexistent.json'],
    ['power_of_two without workers', ['--policy', 'power_of_two'], 'power_of_two'],
    ['a header name that is none', ['--worker-filter-header', 'a b'], '--worker-filter-header'],
    ['a stray word', ['launch', 'now'], 'belongs to no flag'],
  ];
  // Three at a time: most of each run is the start of node.
  const runs = CASES.map(([, argv]) => ({ argv, result: undefined as undefined | Result }));
  beforeAll(async () => {
    const queue = [...runs];
    const work = async (): Promise<void> => {
      for (let run = queue.shift(); run !== undefined; run = queue.shift()) {
        run.result = await runProgram(run.argv);
      }
    };
    await Promise.all([work(), work(), work()]);
  }, 30_000);

  it.each(CASES.map(([title, , naming], at) => [title, naming, at] as const))(
    '%s: exit code 2, one clear line, no stack trace',
    (_, naming, at) => {
      const got = runs[at]?.result;
      expect([got?.code, got?.signal]).toEqual([2, null]);
      expect(got?.stderr).toMatch(/^error: /);
      expect(got?.stderr).toContain(naming);
      expect(got?.stderr).not.toMatch(STACK);
      expect(got?.stdout).toBe('');
    },
  );

  it('every problem is named at once', async () => {
    const got = await runProgram(['--port', 'x', '--frob', '--cache-threshold', '7']);
    expect(got.code).toBe(2);
    for (const flag of ['--port', '--frob', '--cache-threshold'])
      expect(got.stderr).toContain(flag);
  });

  it('secrets in it are not repeated', async () => {
    const cases = [
      ['--tenant-api-key', 'canary-no-colon'],
      ['--worker-urls', 'http://user:canary-password@127.0.0.1:1'],
      ['--worker-urls', 'http://127.0.0.1:1?key=canary-query', '--port', 'x'],
      ['--api-key', ' canary-padded '],
      ['--api-key', 'canary-same', '--tenant-api-key', 'a:canary-same'],
      ['--api-key=canary-key', '--port', 'x'],
    ];
    const all = await Promise.all(cases.map((argv) => runProgram(argv)));
    all.forEach((got, at) => {
      expect([cases[at], got.code]).toEqual([cases[at], 2]);
      expect(got.stdout + got.stderr).not.toContain('canary');
    });
  });

  it('a port that is taken: exit code 1, the port named, no stack trace', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const [other = 0] = await freePorts(1);
    try {
      for (const [main, metrics] of [
        [port, other],
        [other, port],
      ]) {
        const got = await runProgram([
          ...['--host', '127.0.0.1', '--port', String(main)],
          ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metrics)],
        ]);
        expect([got.code, got.signal]).toEqual([1, null]);
        expect(got.stderr).toContain(String(port));
        expect(got.stderr).not.toMatch(STACK);
      }
    } finally {
      server.close();
    }
  });

  it('the same port twice is refused before anything starts', async () => {
    const got = await runProgram(['--port', '31999', '--prometheus-port', '31999']);
    expect([1, 2]).toContain(got.code);
    expect(got.stderr).toContain('31999');
    expect(got.stderr).not.toMatch(STACK);
  });

  it('a plug-in that is missing, broken or no module: exit code 1, its name, no stack trace', async () => {
    writeFileSync(join(home, 'broken.js'), 'throw new Error("boom at load");');
    writeFileSync(join(home, 'syntax.js'), 'const = 1;');
    writeFileSync(join(home, 'none.js'), 'exports.x = 1;');
    const [port = 0, metrics = 0] = await freePorts(2);
    for (const name of [
      './nowhere.js',
      './broken.js',
      './syntax.js',
      './none.js',
      'no-such-package',
    ]) {
      const got = await runProgram(
        ['--plugin', name, '--port', String(port), '--prometheus-port', String(metrics)],
        { cwd: home },
      );
      expect([name, got.code]).toEqual([name, 1]);
      expect(got.stderr).toContain(name);
      expect(got.stderr).not.toMatch(/\n\s+at .*\(/);
    }
  });

  it('--require-filters without such a filter: the start is refused, the filter named', async () => {
    const [port = 0, metrics = 0] = await freePorts(2);
    const got = await runProgram([
      ...['--require-filters', 'gpu-class'],
      ...['--host', '127.0.0.1', '--port', String(port)],
      ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metrics)],
    ]);
    expect([1, 2]).toContain(got.code);
    expect(got.stderr).toContain('gpu-class');
    expect(got.stderr).not.toMatch(STACK);
  });
});

describe('commands that answer and leave', () => {
  it('--version, -V and --help exit 0', async () => {
    for (const argv of [
      ['--version'],
      ['-V'],
      ['--version-verbose'],
      ['--help'],
      ['launch', '--help'],
    ]) {
      const got = await runProgram(argv);
      expect([argv, got.code, got.stderr]).toEqual([argv, 0, '']);
      expect(got.stdout.length).toBeGreaterThan(5);
    }
  });

  it('--check-config says whether it would start, and opens nothing', async () => {
    const good = await runProgram(['--check-config', '--policy', 'random']);
    expect([good.code, good.stdout.trim()]).toEqual([0, 'configuration is valid']);
    const bad = await runProgram(['--check-config', '--policy', 'power_of_two']);
    expect(bad.code).toBe(2);
  });

  it('--print-config prints what holds, from flags and file, secrets masked', async () => {
    const file = join(home, 'gateway.json');
    writeFileSync(
      file,
      JSON.stringify({
        policy: 'random',
        port: 31234,
        api_key: 'canary-file-key',
        sticky: undefined,
      }),
    );
    const got = await runProgram([
      ...['--config', file, '--print-config', '--port', '31235'],
      ...['--tenant-api-key', 'acme:canary-tenant-key'],
    ]);
    expect(got.code).toBe(0);
    expect(JSON.parse(got.stdout)).toMatchObject({ policy: 'random', port: 31235 });
    expect(got.stdout).toContain('acme');
    expect(got.stdout + got.stderr).not.toContain('canary');
  });

  it('what --print-config prints can be a config file again', async () => {
    const first = await runProgram(['--print-config', '--policy', 'random', '--port', '31236']);
    const file = join(home, 'printed.json');
    writeFileSync(file, first.stdout);
    const second = await runProgram(['--print-config', '--config', file]);
    expect(second.code).toBe(0);
    expect(second.stdout).toBe(first.stdout);
  });

  it('--config with an unknown or wrong member: exit code 2, the member named', async () => {
    const file = join(home, 'bad.json');
    for (const [text, naming] of [
      ['{"polcy":"random"}', 'polcy'],
      ['{"port":"x"}', 'port'],
      ['{"port":', 'bad.json'],
      ['[]', 'bad.json'],
    ] as const) {
      writeFileSync(file, text);
      const got = await runProgram(['--config', file]);
      expect([text, got.code]).toEqual([text, 2]);
      expect(got.stderr).toContain(naming);
      expect(got.stderr).not.toMatch(STACK);
    }
  });
});
