import { makeCertificate, withPassphrase } from '../test/certificates';
import { TlsCertificate } from './tls-certificate';

const FILES = { certPath: '/cert.pem', keyPath: '/key.pem' };
const NOW = Date.parse('2030-01-15T00:00:00Z');
const VALID = { notBefore: new Date('2030-01-01Z'), notAfter: new Date('2030-02-01Z') };

function certificate(contents: Record<string, string | Error>): TlsCertificate {
  return new TlsCertificate(FILES, {
    now: () => NOW,
    readFile: (path) => {
      const content = contents[path];
      if (typeof content === 'string') return content;
      throw content ?? Object.assign(new Error(`no such file ${path}`), { code: 'ENOENT' });
    },
  });
}

describe('TlsCertificate', () => {
  const good = makeCertificate(VALID);
  const other = makeCertificate(VALID);

  it('takes a certificate with its key, and a chain', () => {
    const single = certificate({ '/cert.pem': good.cert, '/key.pem': good.key });
    expect(single.current).toMatchObject({ cert: good.cert, key: good.key });
    expect(single.current.notAfter).toBe(VALID.notAfter.getTime());
    expect(single.problem).toBeUndefined();
    certificate({ '/cert.pem': good.cert + other.cert, '/key.pem': good.key });
  });

  it.each<[string, Record<string, string | Error>, RegExp]>([
    ['no certificate file', { '/key.pem': good.key }, /--tls-cert-path: .*\/cert\.pem: ENOENT/],
    ['no key file', { '/cert.pem': good.cert }, /--tls-key-path: .*\/key\.pem: ENOENT/],
    [
      'an unreadable key',
      { '/cert.pem': good.cert, '/key.pem': Object.assign(new Error('x'), { code: 'EACCES' }) },
      /--tls-key-path: .*EACCES/,
    ],
    ['garbage', { '/cert.pem': 'garbage', '/key.pem': good.key }, /holds no certificate/],
    ['an empty file', { '/cert.pem': '', '/key.pem': good.key }, /holds no certificate/],
    [
      'the two files swapped',
      { '/cert.pem': good.key, '/key.pem': good.cert },
      /--tls-cert-path: .*holds no certificate/,
    ],
    [
      'a broken key',
      { '/cert.pem': good.cert, '/key.pem': good.key.slice(0, 90) },
      /no private key/,
    ],
    [
      'a key with a passphrase',
      { '/cert.pem': good.cert, '/key.pem': withPassphrase(good.key) },
      /--tls-key-path: .*without a passphrase/,
    ],
    [
      'the key of another certificate',
      { '/cert.pem': good.cert, '/key.pem': other.key },
      /not the key of the first certificate/,
    ],
    [
      'a chain in the wrong order',
      { '/cert.pem': other.cert + good.cert, '/key.pem': good.key },
      /not the key of the first certificate/,
    ],
    [
      'a broken second certificate',
      { '/cert.pem': `${good.cert}${other.cert.replace('MI', '!!')}`, '/key.pem': good.key },
      /--tls-cert-path: .*cannot be used/,
    ],
  ])('%s is refused in plain words, without a word of the key', (_, contents, message) => {
    let said = '';
    try {
      certificate(contents);
    } catch (error) {
      said = (error as Error).message;
    }
    expect(said).toMatch(message);
    for (const key of [good.key, other.key]) {
      for (const line of key.split('\n').filter((text) => !text.startsWith('-') && text !== '')) {
        expect(said).not.toContain(line.slice(0, 16));
      }
    }
  });

  it('an expired one, and one that is not valid yet, is a problem and no fault', () => {
    const expired = makeCertificate({ ...VALID, notAfter: new Date('2030-01-10Z') });
    const early = makeCertificate({ ...VALID, notBefore: new Date('2030-01-20Z') });
    expect(certificate({ '/cert.pem': expired.cert, '/key.pem': expired.key }).problem).toBe(
      'the certificate expired on 2030-01-10T00:00:00.000Z',
    );
    expect(certificate({ '/cert.pem': early.cert, '/key.pem': early.key }).problem).toBe(
      'the certificate is not valid before 2030-01-20T00:00:00.000Z',
    );
  });

  describe('reload', () => {
    const contents: Record<string, string> = {};
    const applied: string[] = [];
    let running: TlsCertificate;
    beforeEach(() => {
      Object.assign(contents, { '/cert.pem': good.cert, '/key.pem': good.key });
      applied.length = 0;
      running = certificate(contents);
      running.onChange(({ cert }) => applied.push(cert));
    });

    it('puts a new pair in force', () => {
      Object.assign(contents, { '/cert.pem': other.cert, '/key.pem': other.key });
      running.reload();
      expect(applied).toEqual([other.cert]);
      expect(running.current.cert).toBe(other.cert);
    });

    it.each<[string, Record<string, string>]>([
      ['half a new pair', { '/cert.pem': other.cert }],
      ['garbage', { '/cert.pem': 'garbage' }],
      [
        'an expired pair',
        (({ cert, key }) => ({ '/cert.pem': cert, '/key.pem': key }))(
          makeCertificate({ ...VALID, notAfter: new Date('2030-01-10Z') }),
        ),
      ],
    ])('keeps the old one over %s', (_, changed) => {
      Object.assign(contents, changed);
      expect(() => {
        running.reload();
      }).toThrow('--tls-');
      expect(applied).toEqual([]);
      expect(running.current.cert).toBe(good.cert);
    });

    it('keeps the old one when the listener does not take the new', () => {
      running.onChange(() => {
        throw new Error('no');
      });
      Object.assign(contents, { '/cert.pem': other.cert, '/key.pem': other.key });
      expect(() => {
        running.reload();
      }).toThrow('no');
      expect(running.current.cert).toBe(good.cert);
    });
  });
});
