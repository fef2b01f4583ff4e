import { readRegularFile, type Reloadable } from '@smg/plugin-api';
import { dateProblem, readTlsIdentity, type TlsFiles, type TlsIdentity } from './tls-identity';

/** What a {@link TlsCertificate} needs of its surroundings. */
export interface TlsCertificateParts {
  readonly readFile: (path: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const SYSTEM: TlsCertificateParts = {
  readFile: readRegularFile,
  now: Date.now,
};

/** The certificate of the main port, read at the start and again on SIGHUP. */
export class TlsCertificate implements Reloadable {
  readonly name = 'tls';
  private identity: TlsIdentity;
  private apply: (identity: TlsIdentity) => void = () => undefined;

  /** @throws Error when the files hold nothing to start with. */
  constructor(
    private readonly files: TlsFiles,
    private readonly parts: TlsCertificateParts = SYSTEM,
  ) {
    this.identity = readTlsIdentity(files, parts.readFile);
  }

  get current(): TlsIdentity {
    return this.identity;
  }

  /** Why clients refuse the certificate now, or undefined. */
  get problem(): string | undefined {
    return dateProblem(this.identity, this.parts.now());
  }

  /** @param apply puts a new identity in force; throws when it cannot. */
  onChange(apply: (identity: TlsIdentity) => void): void {
    this.apply = apply;
  }

  /** @throws Error; also for a certificate that clients would refuse today: the old one is no worse. */
  reload(): void {
    const next = readTlsIdentity(this.files, this.parts.readFile);
    const problem = dateProblem(next, this.parts.now());
    if (problem !== undefined) throw new Error(`--tls-cert-path: ${problem}`);
    this.apply(next);
    this.identity = next;
  }
}
