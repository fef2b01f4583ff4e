import { payloadOf, rawEnginePathOf, type RlRequest } from './rl.http';

const asking = (url: string): RlRequest => ({
  method: 'GET',
  body: undefined,
  raw: { url, rawHeaders: [] },
});

it.each([
  ['/v1/rl/engine/pause', 'pause'],
  ['/v1/rl/engine/v1/a%2Fb?selector=x', 'v1/a%2Fb'],
  ['/v1/rl/engine//pause', '/pause'],
  ['/v1/rl/engine/', ''],
  ['/v1/rl/engine/workers/engine/x', 'workers/engine/x'],
  ['/v1/rl/workers/42/engine/pause', 'pause'],
  ['/v1/rl/workers/engine/engine/a/b/', 'a/b/'],
  ['/v1/%72l/%65ngine/pause', 'pause'],
  ['/v1/rl/%77orkers/4%2F2/%65ngine/pause?a=/engine/b', 'pause'],
  ['/v1/rl/engine/pause#frag', 'pause#frag'],
])('the engine path of %s is %s', (url, path) => {
  expect(rawEnginePathOf(asking(url))).toBe(path);
});

describe('an answer in pieces', () => {
  it('is one string while it is small', () => {
    expect(payloadOf(['{', '}'].values())).toBe('{}');
  });

  it('is a stream of the same pieces when it is large', async () => {
    const pieces = ['a', 'b', 'c'].map((letter) => letter.repeat(5_000_000));
    const payload = payloadOf(pieces.values());
    expect(typeof payload).toBe('object');
    let text = '';
    for await (const piece of payload as AsyncIterable<string>) text += piece;
    expect(text === pieces.join('')).toBe(true);
  });
});
