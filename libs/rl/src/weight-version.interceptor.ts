import { Injectable } from '@nestjs/common';
import { ResponseInterceptor, type Exchange, type ResponseHead } from '@smg/plugin-api';
import { MIXED_VERSION, WEIGHT_VERSION, WEIGHT_VERSION_START } from '@smg/protocol';
import { isMixed, mayBeMixed } from './core/mixed-version';
import { VersionTable } from './core/version-table';
import { equalVersions, type WeightVersion } from './core/weight-version';
import { RlMetrics } from './rl.metrics';

const START = Symbol('smg.rl.version-at-dispatch');

/** The route whose answers report the engine's own version, exactly. */
const GENERATE = '/generate';

/**
 * Stamps what a worker caused with the weight version of its engine, and flags answers in which more
 * than one took part. The version is the table's as the head is written.
 */
@Injectable()
export class WeightVersionInterceptor extends ResponseInterceptor {
  readonly name = 'weight-version';
  readonly order = 200;

  constructor(
    private readonly table: VersionTable,
    private readonly metrics: RlMetrics,
  ) {
    super();
  }

  override onDispatch(exchange: Exchange): void {
    // Also when there is none: the note of an earlier attempt speaks of another engine.
    exchange.note(START, this.versionOf(exchange));
  }

  onHead(head: ResponseHead, exchange: Exchange): void {
    const now = this.versionOf(exchange);
    if (now === undefined) return;
    head.set(WEIGHT_VERSION, now.text);
    const start = this.startOf(exchange);
    if (start !== undefined && !equalVersions(start, now)) {
      head.set(WEIGHT_VERSION_START, start.text);
    }
  }

  override inspectsBody(head: ResponseHead, exchange: Exchange): boolean {
    // An information route generates nothing that could be mixed.
    if (exchange.routedWorker === undefined || exchange.endpoint === 'info') return false;
    return mayBeMixed(head.status, exchange.route === GENERATE, this.hasDrifted(exchange));
  }

  override onBody(head: ResponseHead, body: Buffer, exchange: Exchange): void {
    const mixed = isMixed({
      isGenerate: exchange.route === GENERATE,
      body,
      contentType: head.get('content-type'),
      stamped: this.versionOf(exchange),
      drifted: this.hasDrifted(exchange),
    });
    if (!mixed) return;
    head.set(MIXED_VERSION, 'true');
    this.metrics.sawMixedVersions();
  }

  private versionOf({ routedWorker }: Exchange): WeightVersion | undefined {
    return routedWorker === undefined ? undefined : this.table.get(routedWorker.baseUrl)?.version;
  }

  private startOf(exchange: Exchange): WeightVersion | undefined {
    return exchange.noted(START) as WeightVersion | undefined;
  }

  /** Whether a known version became another one while the engine worked. */
  private hasDrifted(exchange: Exchange): boolean {
    const start = this.startOf(exchange);
    const now = this.versionOf(exchange);
    return start !== undefined && now !== undefined && !equalVersions(start, now);
  }
}
