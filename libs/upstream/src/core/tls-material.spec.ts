import { generateKeyPairSync } from 'node:crypto';
import { TestAuthority } from '../../test/certificates';
import { readTlsMaterial, type WorkerTlsFiles } from './tls-material';

const authority = new TestAuthority();
const other = new TestAuthority('Other');
const client = authority.issue({ name: 'gateway' });
const stranger = authority.issue({ name: 'stranger' });
const old = authority.issue({ name: 'gateway', days: -1 });
const encrypted = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'p' })
  .toString();

const FILES: Readonly<Record<string, string>> = {
  '/ca.pem': authority.cert,
  '/two.pem': `# both\n${authority.cert}\n${other.cert}`,
  '/cert.pem': client.cert,
  '/chain.pem': client.cert + authority.cert,
  '/key.pem': client.key,
  '/stranger.pem': stranger.key,
  '/old.pem': old.cert,
  '/old-key.pem': old.key,
  '/empty.pem': '',
  '/broken.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
  '/broken-key.pem': '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n',
  '/encrypted.pem': encrypted,
};

const read = (files: WorkerTlsFiles) =>
  readTlsMaterial(
    files,
    (path) => {
      const text = FILES[path];
      if (text === undefined) throw Object.assign(new Error(`open '${path}'`), { code: 'ENOENT' });
      return text;
    },
    Date.now(),
  );

it('reads nothing when nothing is asked for', () => {
  expect(read({})).toEqual({ cert: undefined, key: undefined, authorities: [], warnings: [] });
});

it('takes every authority of every file', () => {
  const { authorities } = read({ caCertPaths: ['/two.pem', '/ca.pem'] });
  expect(authorities).toEqual(
    [authority.cert, other.cert, authority.cert].map((pem) => pem.trimEnd()),
  );
});

it('takes a chain with the key of its first certificate', () => {
  expect(read({ clientCertPath: '/chain.pem', clientKeyPath: '/key.pem' })).toMatchObject({
    cert: FILES['/chain.pem'],
    key: client.key,
    warnings: [],
  });
});

it('warns of what has expired', () => {
  expect(read({ clientCertPath: '/old.pem', clientKeyPath: '/old-key.pem' }).warnings).toEqual([
    '--client-cert-path: /old.pem: the certificate has expired',
  ]);
});

it.each<[WorkerTlsFiles, string]>([
  [
    { caCertPaths: ['/ca.pem', '/none.pem'] },
    '--ca-cert-paths: /none.pem: cannot be read (ENOENT)',
  ],
  [{ caCertPaths: ['/empty.pem'] }, '--ca-cert-paths: /empty.pem: holds no PEM certificate'],
  [{ caCertPaths: ['/key.pem'] }, '--ca-cert-paths: /key.pem: holds no PEM certificate'],
  [{ caCertPaths: ['/broken.pem'] }, '--ca-cert-paths: /broken.pem: holds a malformed certificate'],
  [{ clientCertPath: '/cert.pem' }, '--client-cert-path needs --client-key-path'],
  [{ clientKeyPath: '/key.pem' }, '--client-key-path needs --client-cert-path'],
  [
    { clientCertPath: '/none.pem', clientKeyPath: '/key.pem' },
    '--client-cert-path: /none.pem: cannot be read (ENOENT)',
  ],
  [
    { clientCertPath: '/cert.pem', clientKeyPath: '/cert.pem' },
    '--client-key-path: /cert.pem: holds no PEM private key',
  ],
  [
    { clientCertPath: '/cert.pem', clientKeyPath: '/broken-key.pem' },
    '--client-key-path: /broken-key.pem: holds no PEM private key',
  ],
  [
    { clientCertPath: '/cert.pem', clientKeyPath: '/encrypted.pem' },
    '--client-key-path: /encrypted.pem: the key is encrypted; a key without a passphrase is needed',
  ],
  [
    { clientCertPath: '/cert.pem', clientKeyPath: '/stranger.pem' },
    '--client-key-path: /stranger.pem: not the key of the certificate in /cert.pem',
  ],
])('%j is refused: %s', (files, message) => {
  expect(() => read(files)).toThrow(new Error(message));
});
