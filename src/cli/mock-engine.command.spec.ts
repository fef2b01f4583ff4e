import { mockEngine, runMockEngine } from './mock-engine.command';

describe('smg mock-engine', () => {
  let printed: string[];

  beforeEach(() => {
    printed = [];
    jest.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
    jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => printed.push(String(text)) > 0);
    jest
      .spyOn(process.stderr, 'write')
      .mockImplementation((text) => printed.push(String(text)) > 0);
  });
  afterEach(() => jest.restoreAllMocks());

  it('prints one JSON line and serves what the flags say', async () => {
    const engine = await runMockEngine([
      ...['--port', '0', '--kind', 'vllm', '--model', '/m', '--served-model-name', 'nick'],
      ...['--tokens', '2', '--label', 'role=policy'],
    ]);
    expect(printed).toHaveLength(1);
    const line = JSON.parse(printed[0]!);
    expect(line).toMatchObject({ event: 'listening', kind: 'vllm', model: 'nick' });
    const models = JSON.parse(await (await fetch(`${line.url}/v1/models`)).text());
    expect(models.data[0]).toMatchObject({ id: 'nick', root: '/m', owned_by: 'vllm' });
    await engine.stop();
    await expect(fetch(`${line.url}/health`)).rejects.toThrow();
  });

  it.each([
    ['--port', '70000'],
    ['--port', 'http'],
    ['--kind', 'gguf'],
    ['--fail-rate', '2'],
    ['--label', 'nonsense'],
    ['--frobnicate', '1'],
  ])('refuses %s %s with a sentence and code 2', async (flag, value) => {
    expect(await mockEngine([flag, value])).toBe(2);
    expect(printed.join('')).toMatch(/^error: /);
    expect(printed.join('')).not.toContain('    at ');
  });

  it('explains itself', async () => {
    expect(await mockEngine(['--help'])).toBe(0);
    expect(printed.join('')).toContain('smg mock-engine');
  });
});
