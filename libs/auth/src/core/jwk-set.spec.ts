import { generateKeyPairSync } from 'node:crypto';
import { usableKeys } from './jwk-set';

const ec = (namedCurve: string): object =>
  generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' });
const rsa = (bits: number): object => ({
  kty: 'RSA',
  e: 'AQAB',
  // The size is all that is looked at here.
  n: Buffer.alloc(bits / 8, 0xff).toString('base64url'),
});
const algorithms = (...keys: unknown[]): string[] => usableKeys({ keys }).map(({ alg }) => alg);

describe('keys of a set', () => {
  it.each<[string, object, string[]]>([
    ['RSA without alg', rsa(2048), ['RS256']],
    ['RSA PS512', { ...rsa(2048), alg: 'PS512' }, ['PS512']],
    ['RSA for encryption', { ...rsa(2048), alg: 'RSA-OAEP' }, []],
    ['RSA that says ES256', { ...rsa(2048), alg: 'ES256' }, []],
    ['RSA that says HS256', { ...rsa(2048), alg: 'HS256' }, []],
    ['RSA too short', rsa(1024), []],
    ['RSA too long', rsa(16_384), []],
    ['P-256', ec('P-256'), ['ES256']],
    ['P-384', ec('P-384'), ['ES384']],
    ['P-521', ec('P-521'), []],
    ['P-256 that says ES384', { ...ec('P-256'), alg: 'ES384' }, []],
    ['Ed25519', { kty: 'OKP', crv: 'Ed25519', x: 'eA' }, ['EdDSA']],
    ['Ed25519 by its new name', { kty: 'OKP', crv: 'Ed25519', x: 'eA', alg: 'Ed25519' }, ['EdDSA']],
    ['Ed448', { kty: 'OKP', crv: 'Ed448', x: 'eA' }, []],
    ['a secret', { kty: 'oct', k: 'eA', alg: 'HS256' }, []],
    ['for encryption', { ...ec('P-256'), use: 'enc' }, []],
    ['for signatures', { ...ec('P-256'), use: 'sig', key_ops: ['verify'] }, ['ES256']],
    ['for other operations', { ...ec('P-256'), key_ops: ['encrypt'] }, []],
    ['incomplete', { kty: 'EC', crv: 'P-256', x: 'eA' }, []],
    ['a curve of the prototype', { kty: 'EC', crv: 'constructor', x: 'eA', y: 'eA' }, []],
  ])('%s', (_name, key, expected) => {
    expect(algorithms({ kid: 'k', ...key })).toEqual(expected);
  });

  it('without a kid a key is nobody’s', () => {
    expect(
      algorithms(ec('P-256'), { ...ec('P-256'), kid: '' }, { ...ec('P-256'), kid: 1 }),
    ).toEqual([]);
  });

  it('keeps public members alone', () => {
    const [key] = usableKeys({ keys: [{ kid: 'k', ...ec('P-256'), d: 'canary', x5c: ['x'] }] });
    expect(Object.keys(key?.jwk ?? {}).sort()).toEqual(['crv', 'kty', 'x', 'y']);
    expect(JSON.stringify(key)).not.toMatch(/canary/);
  });

  it('nothing of a document of another shape is a key', () => {
    for (const document of [null, [], 'x', {}, { keys: {} }, { keys: [null, 1, 'x', []] }]) {
      expect(usableKeys(document)).toEqual([]);
    }
  });
});
