import { refusalOfClaims } from './jwt-claims';

const EXPECTED = { issuer: 'https://idp.example', audience: 'smg' };
const NOW = 1_800_000_000;
const GOOD = { iss: EXPECTED.issuer, aud: 'smg', exp: NOW + 60 };

describe('claims [R67]', () => {
  it.each<[string, object, string | undefined]>([
    ['what is needed', {}, undefined],
    ['another issuer', { iss: 'https://idp.example/' }, 'jwt_issuer'],
    ['no issuer', { iss: undefined }, 'jwt_issuer'],
    ['a list of issuers', { iss: [EXPECTED.issuer] }, 'jwt_issuer'],
    ['another audience', { aud: 'smg2' }, 'jwt_audience'],
    ['no audience', { aud: undefined }, 'jwt_audience'],
    ['one audience of several', { aud: ['x', 'smg'] }, undefined],
    ['several audiences, none ours', { aud: ['x', 'smg '] }, 'jwt_audience'],
    ['no exp', { exp: undefined }, 'jwt_exp'],
    ['exp null', { exp: null }, 'jwt_exp'],
    ['exp as text', { exp: String(NOW + 60) }, 'jwt_exp'],
    ['exp as a list', { exp: [NOW + 60] }, 'jwt_exp'],
    ['exp beyond any date', { exp: 1e20 }, 'jwt_exp'],
    ['exp infinite', { exp: Number.POSITIVE_INFINITY }, 'jwt_exp'],
    ['exp with a fraction', { exp: NOW + 0.5 }, undefined],
    ['exp now', { exp: NOW }, undefined],
    ['exp at the end of the leeway', { exp: NOW - 30 }, undefined],
    ['exp a moment later', { exp: NOW - 30.001 }, 'jwt_expired'],
    ['exp a second later', { exp: NOW - 31 }, 'jwt_expired'],
    ['exp long ago', { exp: 0 }, 'jwt_expired'],
    ['nbf now', { nbf: NOW }, undefined],
    ['nbf at the end of the leeway', { nbf: NOW + 30 }, undefined],
    ['nbf a second later', { nbf: NOW + 31 }, 'jwt_not_yet_valid'],
    ['nbf as text', { nbf: '1' }, 'jwt_time'],
    ['nbf null', { nbf: null }, 'jwt_time'],
    ['iat at the end of the leeway', { iat: NOW + 30 }, undefined],
    ['iat a second later', { iat: NOW + 31 }, 'jwt_issued_in_future'],
    ['iat as text', { iat: 'x' }, 'jwt_time'],
  ])('%s', (_name, change, refusal) => {
    expect(refusalOfClaims({ ...GOOD, ...change }, EXPECTED, NOW)).toBe(refusal);
  });
});
