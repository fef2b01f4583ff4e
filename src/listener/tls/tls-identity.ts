import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type ServerIdentity } from '@smg/proxy';

/** Where the main port's certificate and key lie. */
export interface TlsFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

/** A checked certificate chain with its key. */
export interface TlsIdentity extends ServerIdentity {
  /** Milliseconds since the epoch between which clients take the certificate. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * Reads and checks what a TLS listener needs. Dates are left to the caller.
 * @throws Error that names the flag, the file and what is wrong; never a word of the key.
 */
export function readTlsIdentity(
  { certPath, keyPath }: TlsFiles,
  readFile: (path: string) => string,
): TlsIdentity {
  const cert = readPem('--tls-cert-path', certPath, readFile);
  const key = readPem('--tls-key-path', keyPath, readFile);
  const certificate = certificateOf(certPath, cert);
  if (!certificate.checkPrivateKey(privateKeyOf(keyPath, key))) {
    throw new Error(
      `--tls-key-path: ${keyPath} is not the key of the first certificate in ${certPath}`,
    );
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new Error(`--tls-cert-path: ${certPath} cannot be used: ${reasonOf(error)}`);
  }
  return {
    cert,
    key,
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

/** Why clients would refuse the identity at this time, or undefined. */
export function dateProblem(identity: TlsIdentity, now: number): string | undefined {
  if (now > identity.notAfter) {
    return `the certificate expired on ${new Date(identity.notAfter).toISOString()}`;
  }
  if (now < identity.notBefore) {
    return `the certificate is not valid before ${new Date(identity.notBefore).toISOString()}`;
  }
  return undefined;
}

function readPem(flag: string, path: string, readFile: (path: string) => string): string {
  try {
    return readFile(path);
  } catch (error) {
    throw new Error(`${flag}: cannot read ${path}: ${reasonOf(error)}`);
  }
}

function certificateOf(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new Error(`--tls-cert-path: ${path} holds no certificate in PEM`);
  }
}

function privateKeyOf(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error(`--tls-key-path: ${path} holds no private key in PEM without a passphrase`);
  }
}

/** Code or OpenSSL's reason: short, and made of no file's content. */
function reasonOf(error: unknown): string {
  const { code, reason } = error as { readonly code?: unknown; readonly reason?: unknown };
  if (typeof reason === 'string') return reason;
  return typeof code === 'string' ? code : 'unknown reason';
}
