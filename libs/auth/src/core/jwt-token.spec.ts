import fc from 'fast-check';
import { isToken, readToken } from './jwt-token';

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const token = (header: unknown, claims: unknown = {}, signature = 'c2ln'): string =>
  `${part(header)}.${part(claims)}.${signature}`;

describe('reading a token', () => {
  it('gives algorithm, key id and claims', () => {
    expect(readToken(token({ alg: 'ES256', kid: 'k', typ: 'at+jwt' }, { a: 1 }))).toEqual({
      alg: 'ES256',
      kid: 'k',
      claims: { a: 1 },
    });
  });

  it.each<[string, string, string]>([
    ['none [R66]', token({ alg: 'none', kid: 'k' }), 'jwt_algorithm'],
    ['None', token({ alg: 'None', kid: 'k' }), 'jwt_algorithm'],
    ['a missing alg', token({ kid: 'k' }), 'jwt_algorithm'],
    ['HMAC', token({ alg: 'HS256', kid: 'k' }), 'jwt_algorithm'],
    ['ES512', token({ alg: 'ES512', kid: 'k' }), 'jwt_algorithm'],
    ['a list of algorithms', token({ alg: ['RS256'], kid: 'k' }), 'jwt_algorithm'],
    ['no kid', token({ alg: 'RS256' }), 'jwt_kid'],
    ['an empty kid', token({ alg: 'RS256', kid: '' }), 'jwt_kid'],
    ['a number as kid', token({ alg: 'RS256', kid: 1 }), 'jwt_kid'],
    ['a huge kid', token({ alg: 'RS256', kid: 'k'.repeat(513) }), 'jwt_kid'],
    ['crit', token({ alg: 'RS256', kid: 'k', crit: ['exp'] }), 'jwt_header'],
    ['jwk', token({ alg: 'RS256', kid: 'k', jwk: {} }), 'jwt_header'],
    ['jku', token({ alg: 'RS256', kid: 'k', jku: 'https://x' }), 'jwt_header'],
    ['x5u', token({ alg: 'RS256', kid: 'k', x5u: 'https://x' }), 'jwt_header'],
    ['a header that is no object', token([]), 'jwt_malformed'],
    ['a header that is no JSON', token('{'), 'jwt_malformed'],
    ['claims that are no object', token({ alg: 'RS256', kid: 'k' }, '"x"'), 'jwt_malformed'],
    ['no signature', token({ alg: 'RS256', kid: 'k' }, {}, ''), 'jwt_malformed'],
    ['padding', `${token({ alg: 'RS256', kid: 'k' })}=`, 'jwt_malformed'],
    ['other alphabet', token({ alg: 'RS256', kid: 'k' }, {}, 'a+/b'), 'jwt_malformed'],
    [
      'bits left over that are not zero',
      token({ alg: 'RS256', kid: 'k' }, {}, 'c2l'),
      'jwt_malformed',
    ],
    [
      'a last character of its own',
      token({ alg: 'RS256', kid: 'k' }, {}, 'c2lnA'),
      'jwt_malformed',
    ],
    ['nothing but dots', '..', 'jwt_malformed'],
    ['too much', `a.${'b'.repeat(16_384)}.c`, 'jwt_too_long'],
  ])('%s', (_name, text, refusal) => {
    expect(readToken(text)).toBe(refusal);
  });

  it('three parts make a token, no other number does', () => {
    expect(['a.b.c', '..', 'a..c'].map(isToken)).toEqual([true, true, true]);
    expect(['', 'a', 'a.b', '.', 'a.b.c.d', '....'].map(isToken)).toEqual(Array(6).fill(false));
  });

  it('whatever comes, it answers [R69]', () => {
    const piece = fc.oneof(fc.string(), fc.base64String(), fc.json().map(part));
    fc.assert(
      fc.property(piece, piece, piece, (a, b, c) => {
        const read = readToken(`${a}.${b}.${c}`);
        expect(['string', 'object']).toContain(typeof read);
      }),
    );
  });
});
