import { outcomeOf } from './engine-outcome';
import { plainText } from './plain-text';
import { ProgressBar } from './progress-bar';
import { refitVerbs } from './refit-verbs';
import { readSettings, type CommonFlags } from './rl-settings';
import { renderTable } from './table';

describe('renderTable', () => {
  it('aligns columns, pads no last one, and lets nothing through that moves a cursor', () => {
    const rows = [
      ['a', 'long value', 'x'],
      ['bb', '\u001b[2Jy\n', 'end'],
    ];
    expect(renderTable(['H', 'HEAD', 'LAST'], rows)).toBe(
      ['H   HEAD        LAST', 'a   long value  x', 'bb  ·[2Jy·      end'].join('\n'),
    );
  });

  it('plainText knows line separators and marks of direction', () => {
    expect(plainText('a\u2028b\u202ec\u0007')).toBe('a·b·c·');
  });
});

describe('outcomeOf', () => {
  const envelope = (status: number, body: unknown) => ({ status, latency_ms: 3, body });

  it.each([
    [200, {}, undefined],
    [204, null, undefined],
    [200, 'OK', undefined],
    [200, { success: true }, undefined],
    [200, { results: [null, {}] }, undefined],
    [200, { success: false, message: 'no' }, 'HTTP 200: no'],
    [200, { status: 'error' }, 'HTTP 200'],
    [200, { results: [null, { error: 'oom' }] }, 'HTTP 200: oom'],
    [400, { error: { message: 'bad mode' } }, 'HTTP 400: bad mode'],
    [500, 'Internal', 'HTTP 500: Internal'],
  ])('%i %j', (status, body, problem) => {
    expect(outcomeOf(envelope(status, body))?.problem).toBe(problem);
  });

  it.each([
    [undefined],
    [{}],
    [{ error: 'x', latency_ms: 1, status: 2 }],
    [[]],
    [{ latency_ms: 1 }],
  ])('%j is none', (value) => {
    expect(outcomeOf(value)).toBeUndefined();
  });
});

describe('readSettings', () => {
  const flags: CommonFlags = { timeout: 5 };
  const outside = (env: Record<string, string> = {}, file = '') => ({ env, readFile: () => file });

  it('flags win over variables, those over defaults', () => {
    expect(readSettings(flags, outside())).toEqual({
      ...{ url: 'http://127.0.0.1:30000', token: undefined, timeoutMs: 5000 },
    });
    const env = { SMG_URL: 'https://gw/base/', SMG_ADMIN_TOKEN: 'tok' };
    expect(readSettings(flags, outside(env))).toMatchObject({
      url: 'https://gw/base',
      token: 'tok',
    });
    const given = { ...flags, url: 'http://other', tokenFile: 'f' };
    expect(readSettings(given, outside(env, ' filed\n'))).toMatchObject({
      ...{ url: 'http://other', token: 'filed' },
    });
    expect(readSettings(flags, outside({ SMG_URL: '' })).url).toBe('http://127.0.0.1:30000');
  });

  it.each([
    ['http://u:Secret@gw', {}, 'has credentials'],
    ['gw:1', {}, 'is not http(s)://'],
    ['http://gw?key=Secret', {}, 'is not http(s)://'],
    ['http://gw', { SMG_ADMIN_TOKEN: 'Secret\nx' }, 'one word of printable ASCII'],
  ])('%s is refused without its secret', (url, env, text) => {
    const read = () => readSettings({ ...flags, url }, outside(env));
    expect(read).toThrow(text);
    expect(read).not.toThrow('Secret');
  });

  it('a token file that is empty or not there', () => {
    const missing = () => {
      throw Object.assign(new Error('x'), { code: 'ENOENT' });
    };
    const withFile = { ...flags, tokenFile: 'f' };
    expect(() => readSettings(withFile, outside({}, '\n'))).toThrow('--token-file "f": is empty');
    expect(() => readSettings(withFile, { env: {}, readFile: missing })).toThrow('"f": ENOENT');
  });
});

describe('ProgressBar', () => {
  const draw = (isTTY: boolean): string => {
    let text = '';
    const screen = { isTTY, columns: 60, write: (part: string) => (text += part) };
    const bar = new ProgressBar(screen, 4);
    bar.step('a: pause ok');
    bar.step('b: pause ok');
    bar.end();
    return text;
  };

  it('draws over itself on a terminal, within its width, and leaves a clean line', () => {
    const frames = draw(true).split('\r\u001b[K').slice(1);
    expect(frames[1]).toBe('[############------------] 2/4 b: pause ok');
    expect(frames.at(-1)).toBe('');
    expect(Math.max(...frames.map(({ length }) => length))).toBeLessThan(60);
  });

  it('is lines elsewhere', () => {
    expect(draw(false)).toBe('a: pause ok\nb: pause ok\n');
  });
});

describe('refitVerbs', () => {
  const order = { modelPath: '/m', weightVersion: '7', mode: undefined };

  it('SGLang gets bodies, vLLM a query; the mode is the one asked for', () => {
    expect(refitVerbs('sglang')?.pause(order)).toEqual({ path: 'pause_generation', body: {} });
    expect(refitVerbs('sglang')?.pause({ ...order, mode: 'retract' }).body).toEqual({
      mode: 'retract',
    });
    expect(refitVerbs('vllm')?.pause(order).params).toEqual([['mode', 'keep']]);
    expect(refitVerbs('vllm')?.pause({ ...order, mode: 'wait' }).params).toEqual([
      ['mode', 'wait'],
    ]);
    expect(refitVerbs('mlx')).toBeUndefined();
  });
});
