import { engineTarget, parseEnginePath, parseRawEnginePath } from './engine-path';

describe('parseEnginePath', () => {
  it.each([
    ['pause_generation', 'pause_generation'],
    ['/pause_generation', 'pause_generation'],
    ['inference/v1/generate', 'inference/v1/generate'],
    ['v1/chat/completions/render', 'v1/chat/completions/render'],
    ['server_info', 'server_info'],
    ['a.b-c_d', 'a.b-c_d'],
    ['...', '...'],
  ])('accepts %s', (text, path) => {
    expect(parseEnginePath(text)).toEqual({ ok: true, path });
  });

  it.each([
    ['', 'path is empty'],
    ['/', 'path is empty'],
    ['//pause', 'path has an empty segment'],
    ['pause/', 'path has an empty segment'],
    ['../workers', 'path has a dot segment'],
    ['a/../b', 'path has a dot segment'],
    ['./a', 'path has a dot segment'],
    ['a/b/c/d/e', 'path has more than 4 segments'],
    ['pause generation', "a segment may hold only letters, digits, '.', '_' and '-'"],
    ['pause?mode=keep', 'path contains a query or a fragment'],
    ['pause#frag', 'path contains a query or a fragment'],
    ['pausé', "a segment may hold only letters, digits, '.', '_' and '-'"],
    ['a%2Fb', "a segment may hold only letters, digits, '.', '_' and '-'"],
    ['a\\b', "a segment may hold only letters, digits, '.', '_' and '-'"],
    ['a\r\nb', "a segment may hold only letters, digits, '.', '_' and '-'"],
  ])('refuses %j: %s', (text, why) => {
    expect(parseEnginePath(text)).toEqual({ ok: false, why });
  });
});

describe('parseRawEnginePath decodes exactly once', () => {
  it.each([
    ['a%2Fb', 'a/b'],
    ['pause%5Fgeneration', 'pause_generation'],
  ])('accepts %s', (raw, path) => {
    expect(parseRawEnginePath(raw)).toEqual({ ok: true, path });
  });

  it.each(['%2e%2e/x', 'a%252Fb', 'pause%20generation', 'a%3Fb', 'a%00b', '%ff', '%', 'a%2'])(
    'refuses %s',
    (raw) => {
      expect(parseRawEnginePath(raw).ok).toBe(false);
    },
  );
});

it('engineTarget leaves the question mark out with the query', () => {
  expect(engineTarget('sleep', 'level=0')).toBe('/sleep?level=0');
  expect(engineTarget('sleep', '')).toBe('/sleep');
});
