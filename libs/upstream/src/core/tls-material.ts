import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';

/** Where the TLS settings towards workers are kept; all of them PEM files. */
export interface WorkerTlsFiles {
  readonly clientCertPath?: string | undefined;
  readonly clientKeyPath?: string | undefined;
  /** Trusted besides the system's authorities. */
  readonly caCertPaths?: readonly string[];
}

/** Something is to be read. */
export const namesTlsFiles = (files: WorkerTlsFiles | undefined): files is WorkerTlsFiles =>
  files?.clientCertPath !== undefined ||
  files?.clientKeyPath !== undefined ||
  (files?.caCertPaths ?? []).length > 0;

/** What the files hold, checked. */
export interface TlsMaterial {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** One certificate each. */
  readonly authorities: readonly string[];
  /** Things an operator should know, fit for the log. */
  readonly warnings: readonly string[];
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Reads and checks the files. TLS itself is told nothing it would silently ignore: a file of
 * authorities without a certificate in it would otherwise just trust nobody.
 * @param read the text of a file.
 * @param now Unix milliseconds, for expiry.
 * @throws Error naming the option and the file; never what is in it.
 */
export function readTlsMaterial(
  files: WorkerTlsFiles,
  read: (path: string) => string,
  now: number,
): TlsMaterial {
  const warnings: string[] = [];
  const authorities: string[] = [];
  for (const path of files.caCertPaths ?? []) {
    const where = `--ca-cert-paths: ${path}`;
    for (const { pem, certificate } of certificatesOf(textOf(path, where, read), where)) {
      if (isExpired(certificate, now)) warnings.push(`${where}: an authority in it has expired`);
      authorities.push(pem);
    }
  }
  const { clientCertPath, clientKeyPath } = files;
  if (clientCertPath === undefined && clientKeyPath === undefined) {
    return { cert: undefined, key: undefined, authorities, warnings };
  }
  if (clientCertPath === undefined) throw new Error('--client-key-path needs --client-cert-path');
  if (clientKeyPath === undefined) throw new Error('--client-cert-path needs --client-key-path');
  const certAt = `--client-cert-path: ${clientCertPath}`;
  const keyAt = `--client-key-path: ${clientKeyPath}`;
  const cert = textOf(clientCertPath, certAt, read);
  const [leaf] = certificatesOf(cert, certAt);
  const key = textOf(clientKeyPath, keyAt, read);
  if (leaf?.certificate.checkPrivateKey(privateKeyOf(key, keyAt)) !== true) {
    throw new Error(`${keyAt}: not the key of the certificate in ${clientCertPath}`);
  }
  if (isExpired(leaf.certificate, now)) warnings.push(`${certAt}: the certificate has expired`);
  return { cert, key, authorities, warnings };
}

function textOf(path: string, where: string, read: (path: string) => string): string {
  try {
    return read(path);
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    throw new Error(`${where}: cannot be read${typeof code === 'string' ? ` (${code})` : ''}`);
  }
}

interface Found {
  readonly pem: string;
  readonly certificate: X509Certificate;
}

/** At least one. */
function certificatesOf(text: string, where: string): readonly Found[] {
  const found = (text.match(CERTIFICATE) ?? []).map((pem): Found => {
    try {
      return { pem, certificate: new X509Certificate(pem) };
    } catch {
      throw new Error(`${where}: holds a malformed certificate`);
    }
  });
  if (found.length === 0) throw new Error(`${where}: holds no PEM certificate`);
  return found;
}

/** The library's own message may repeat parts of the input, and is left out. */
function privateKeyOf(text: string, where: string): KeyObject {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text)) {
    throw new Error(`${where}: the key is encrypted; a key without a passphrase is needed`);
  }
  try {
    return createPrivateKey(text);
  } catch {
    throw new Error(`${where}: holds no PEM private key`);
  }
}

const isExpired = (certificate: X509Certificate, now: number): boolean =>
  Date.parse(certificate.validTo) < now;
