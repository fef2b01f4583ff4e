import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A self-signed certificate for 127.0.0.1 and localhost; its own authority. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** Common name; tells certificates apart. */
  readonly name?: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

const DAY_MS = 86_400_000;

/** Tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length, ...bytes]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = '550403';
const BASIC_CONSTRAINTS = '551d13';
const SUBJECT_ALT_NAME = '551d11';

/** UTCTime, good until 2049. */
const time = (date: Date): Buffer =>
  der(0x17, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`));
const nameOf = (name: string): Buffer =>
  sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(name)))));
const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), der(0x04, value));
const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`;

/** Makes a certificate; X.509 v3 by hand, since Node reads them and writes none. */
export function makeCertificate(options: CertificateOptions = {}): TestCertificate {
  const { name = 'gateway.test' } = options;
  const {
    notBefore = new Date(Date.now() - DAY_MS),
    notAfter = new Date(Date.now() + 30 * DAY_MS),
  } = options;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1 + Math.floor(Math.random() * 100), 1])),
    ECDSA_SHA256,
    nameOf(name),
    sequence(time(notBefore), time(notAfter)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(BASIC_CONSTRAINTS, sequence(der(0x01, Buffer.from([0xff])))),
        extension(
          SUBJECT_ALT_NAME,
          sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1]))),
        ),
      ),
    ),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(
    body,
    ECDSA_SHA256,
    der(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  return {
    cert: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** The same key, with a passphrase. */
export function withPassphrase(key: string): string {
  const plain: KeyObject = createPrivateKey(key);
  return plain
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' })
    .toString();
}

/** A directory with the files of a listener. */
export interface CertificateFiles {
  readonly certPath: string;
  readonly keyPath: string;
  write(files: Partial<TestCertificate>): void;
  remove(): void;
}

export function certificateFiles(first: TestCertificate): CertificateFiles {
  const directory = mkdtempSync(join(tmpdir(), 'smg-tls-'));
  const certPath = join(directory, 'cert.pem');
  const keyPath = join(directory, 'key.pem');
  const write = ({ cert, key }: Partial<TestCertificate>): void => {
    if (cert !== undefined) writeFileSync(certPath, cert);
    if (key !== undefined) writeFileSync(keyPath, key);
  };
  write(first);
  return {
    certPath,
    keyPath,
    write,
    remove: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
