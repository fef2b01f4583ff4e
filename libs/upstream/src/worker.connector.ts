import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import tls, { type SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { type Reloadable, readRegularFile } from '@smg/plugin-api';
import { namesTlsFiles, readTlsMaterial, type WorkerTlsFiles } from './core/tls-material';
import { UPSTREAM_OPTIONS, type UpstreamOptions } from './upstream.options';
import { WorkerAddressGuard } from './worker-address.guard';

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

/**
 * The one way connections to engines are made, for inference, probes and control calls alike: it
 * judges the address, then connects, with this gateway's certificate and authorities when TLS is
 * spoken. Per connection it builds nothing: the TLS context is shared and sessions are resumed.
 */
@Injectable()
export class WorkerConnector implements Reloadable, OnModuleInit {
  readonly name = 'worker-tls';
  private readonly log = new Logger('upstream');
  private readonly plain: buildConnector.connector;
  /** Made on the first use when there are no files: reading the system's authorities takes a while. */
  private secure: buildConnector.connector | undefined;

  constructor(
    @Inject(UPSTREAM_OPTIONS) private readonly options: UpstreamOptions,
    private readonly guard: WorkerAddressGuard,
  ) {
    this.plain = this.build();
  }

  /** @throws Error for TLS files that cannot be used. */
  onModuleInit(): void {
    this.reload();
  }

  /** New connections use what the files hold now; sessions of the old state are not resumed. */
  reload(): void {
    const { tls: files } = this.options;
    if (namesTlsFiles(files)) this.secure = this.build(this.contextOf(files));
  }

  readonly connect: buildConnector.connector = (target, callback) => {
    const refusal = this.guard.connectRefusal(target.hostname);
    if (refusal !== undefined) {
      process.nextTick(callback, refusal, null);
      return;
    }
    if (target.protocol !== 'https:') {
      this.plain(target, callback);
      return;
    }
    this.secure ??= this.build(this.contextOf(this.options.tls ?? {}));
    // Neither SNI (RFC 6066) nor certificates write the dot of a rooted name.
    const isRooted = target.hostname.endsWith('.');
    this.secure(
      isRooted ? { ...target, servername: target.hostname.slice(0, -1) } : target,
      callback,
    );
  };

  private build(secureContext?: SecureContext): buildConnector.connector {
    return buildConnector({
      timeout: this.options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      lookup: this.guard.lookup,
      ...(secureContext === undefined ? {} : { secureContext }),
    });
  }

  private contextOf(files: WorkerTlsFiles): SecureContext {
    const material = readTlsMaterial(files, readRegularFile, Date.now());
    for (const warning of material.warnings) this.log.warn(warning);
    const { cert, key, authorities } = material;
    return tls.createSecureContext({
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
      // A list given replaces the system's, which is to stay trusted.
      ...(authorities.length === 0 ? {} : { ca: [...systemAuthorities(), ...authorities] }),
    });
  }
}

/** What Node trusts by default; older versions only tell which authorities come with Node itself. */
function systemAuthorities(): readonly string[] {
  const { getCACertificates } = tls as unknown as {
    readonly getCACertificates?: (type: 'default') => readonly string[];
  };
  return getCACertificates?.('default') ?? tls.rootCertificates;
}
