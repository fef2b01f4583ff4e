import {
  createHash,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
  type KeyPairKeyObjectResult,
} from 'node:crypto';
import { isIPv4 } from 'node:net';

/**
 * Certificates for tests, made when they run: Node can sign but not write X.509, so the few DER
 * structures needed are put together here (RFC 5280). ECDSA P-256, for speed. Never for production.
 */
export interface TestCertificate {
  /** PEM */
  readonly cert: string;
  /** PEM, PKCS #8 */
  readonly key: string;
}

export interface CertificateRequest {
  /** Common name of the subject. */
  readonly name: string;
  /** DNS names and IPv4 addresses the certificate is for. */
  readonly hosts?: readonly string[];
  /** Days from now until it expires; below 0 it has expired. Default 30. */
  readonly days?: number;
}

const DAY_MS = 86_400_000;
const OID = {
  commonName: [0x55, 0x04, 0x03],
  basicConstraints: [0x55, 0x1d, 0x13],
  subjectAltName: [0x55, 0x1d, 0x11],
  subjectKeyId: [0x55, 0x1d, 0x0e],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
};

/** An authority that issues certificates. */
export class TestAuthority {
  private readonly keys = newKeys();
  /** Its own certificate, PEM. */
  readonly cert: string;

  constructor(private readonly name = 'Test Authority') {
    this.cert = this.write({ name }, this.keys.publicKey, true);
  }

  issue(request: CertificateRequest): TestCertificate {
    const { publicKey, privateKey } = newKeys();
    return {
      cert: this.write(request, publicKey, false),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }

  private write(request: CertificateRequest, subject: KeyObject, isAuthority: boolean): string {
    const algorithm = sequence(tagged(0x06, Buffer.from(OID.ecdsaWithSha256)));
    const until = Date.now() + (request.days ?? 30) * DAY_MS;
    const body = sequence(
      tagged(0xa0, tagged(0x02, Buffer.from([2]))),
      tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
      algorithm,
      nameOf(this.name),
      sequence(time(Math.min(Date.now(), until) - DAY_MS), time(until)),
      nameOf(request.name),
      subject.export({ type: 'spki', format: 'der' }),
      tagged(0xa3, sequence(...extensionsOf(request, subject, isAuthority))),
    );
    const signature = sign('sha256', body, this.keys.privateKey);
    const der = sequence(body, algorithm, tagged(0x03, Buffer.from([0]), signature));
    const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  }
}

const newKeys = (): KeyPairKeyObjectResult => generateKeyPairSync('ec', { namedCurve: 'P-256' });

function extensionsOf(
  { hosts = [] }: CertificateRequest,
  subject: KeyObject,
  isAuthority: boolean,
): Buffer[] {
  const id = createHash('sha1')
    .update(subject.export({ type: 'spki', format: 'der' }))
    .digest();
  const basic = isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence();
  const list = [
    extension(OID.basicConstraints, basic, true),
    extension(OID.subjectKeyId, tagged(0x04, id)),
  ];
  if (hosts.length > 0) {
    const names = hosts.map((host) =>
      isIPv4(host)
        ? tagged(0x87, Buffer.from(host.split('.').map(Number)))
        : tagged(0x82, Buffer.from(host)),
    );
    list.push(extension(OID.subjectAltName, sequence(...names)));
  }
  return list;
}

function extension(oid: readonly number[], value: Buffer, isCritical = false): Buffer {
  return sequence(
    tagged(0x06, Buffer.from(oid)),
    ...(isCritical ? [tagged(0x01, Buffer.from([0xff]))] : []),
    tagged(0x04, value),
  );
}

function nameOf(text: string): Buffer {
  const pair = sequence(tagged(0x06, Buffer.from(OID.commonName)), tagged(0x0c, Buffer.from(text)));
  return sequence(tagged(0x31, pair));
}

/** GeneralizedTime, in seconds. */
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return tagged(0x18, Buffer.from(`${text}Z`));
}

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, ...parts);

function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), value]);
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}
