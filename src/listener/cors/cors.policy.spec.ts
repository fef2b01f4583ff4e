import { CorsPolicy } from './cors.policy';

const mapOf = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]),
  ) as Record<string, string>;

describe('CorsPolicy', () => {
  it('without a list any origin may call, with any method and header, and read everything', () => {
    const { answer, preflight } = new CorsPolicy([]).headersFor('https://anything');
    expect(mapOf(answer)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': '*',
    });
    expect(mapOf(preflight)).toEqual({
      ...mapOf(answer),
      'access-control-allow-methods': '*',
      // A browser does not count authorization to `*`.
      'access-control-allow-headers': '*, authorization',
      'access-control-max-age': '3600',
    });
  });

  it('[RL101] with a list an origin on it reads the request id, the stamps and the error code', () => {
    const { answer, preflight } = new CorsPolicy(['https://a', 'https://b']).headersFor(
      'https://b',
    );
    expect(mapOf(answer)).toEqual({
      'access-control-allow-origin': 'https://b',
      'access-control-expose-headers':
        'x-request-id, x-smg-routed-worker-id, x-smg-weight-version, x-smg-weight-version-start, x-smg-mixed-version, x-smg-error-code',
      vary: 'Origin',
    });
    expect(mapOf(preflight)).toEqual({
      ...mapOf(answer),
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers': 'content-type, authorization, x-smg-version-policy',
      'access-control-max-age': '3600',
    });
  });

  it.each([
    'https://c',
    'null',
    '',
    '*',
    'https://a.evil',
    'https://a:444',
    'https://a, https://b',
  ])('with a list %j gets nothing but Vary', (origin) => {
    const { answer, preflight } = new CorsPolicy(['https://a', 'https://b']).headersFor(origin);
    expect(mapOf(answer)).toEqual({ vary: 'Origin' });
    expect(mapOf(preflight)).toEqual({ vary: 'Origin' });
  });
});
