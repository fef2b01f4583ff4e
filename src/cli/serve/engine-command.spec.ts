import { engineCommand } from './engine-command';
import { splitWords } from './split-words';

const SGLANG = { backend: 'sglang', engineCommand: undefined, tokenUsageDetails: false } as const;
const VLLM = { ...SGLANG, backend: 'vllm' } as const;
const ADDRESS = ['--host', '127.0.0.1', '--port', '31000'];

const lineOf = (
  settings: Parameters<typeof engineCommand>[0],
  args: readonly string[],
): string[] => {
  const { file, args: all } = engineCommand(settings, args, '127.0.0.1', 31000);
  return [file, ...all];
};

describe('engineCommand', () => {
  it('runs the module of the backend, arguments as they are, the address last', () => {
    expect(lineOf(SGLANG, ['--model-path', 'm m', '--x=1'])).toEqual([
      ...['python3', '-m', 'sglang.launch_server', '--model-path', 'm m', '--x=1', ...ADDRESS],
    ]);
    expect(lineOf(VLLM, ['--model', 'm'])).toEqual([
      ...['python3', '-m', 'vllm.entrypoints.openai.api_server', '--model', 'm', ...ADDRESS],
    ]);
  });

  it('vLLM with its model as a first word is its own program', () => {
    expect(lineOf(VLLM, ['m', '--x'])).toEqual(['vllm', 'serve', 'm', '--x', ...ADDRESS]);
  });

  it('asks for token details once', () => {
    const details = { tokenUsageDetails: true };
    expect(lineOf({ ...SGLANG, ...details }, [])).toContain('--enable-cache-report');
    expect(lineOf({ ...VLLM, ...details }, [])).toContain('--enable-prompt-tokens-details');
    const twice = lineOf({ ...SGLANG, ...details }, ['--enable-cache-report']);
    expect(twice.filter((word) => word === '--enable-cache-report')).toHaveLength(1);
  });

  it('--engine-command is another program with first arguments', () => {
    const settings = { ...SGLANG, engineCommand: "'/opt/my env/python' -m sglang.launch_server" };
    expect(lineOf(settings, ['--x'])).toEqual([
      ...['/opt/my env/python', '-m', 'sglang.launch_server', '--x', ...ADDRESS],
    ]);
    expect(() => lineOf({ ...SGLANG, engineCommand: "'a" }, [])).toThrow('a quote is not closed');
    expect(() => lineOf({ ...SGLANG, engineCommand: ' ' }, [])).toThrow('names no program');
  });
});

describe('splitWords', () => {
  it.each([
    ['', []],
    ['  a  b\tc\n', ['a', 'b', 'c']],
    [`'a b' "c d"`, ['a b', 'c d']],
    [`a'b'"c"d`, ['abcd']],
    [`"a\\"b" 'a\\b' a\\ b`, ['a"b', 'a\\b', 'a b']],
    [`''`, ['']],
    ['$HOME *', ['$HOME', '*']],
  ])('%j', (command, words) => {
    expect(splitWords(command)).toEqual(words);
  });

  it.each(["'a", 'a "b', 'a\\', "a'b'c'"])('%j is not closed', (command) => {
    expect(splitWords(command)).toBeUndefined();
  });
});
