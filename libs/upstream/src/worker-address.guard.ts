import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import {
  METRICS,
  type CounterCell,
  type MetricFamily,
  type Metrics,
  type WorkerAddresses,
} from '@smg/plugin-api';
import { AddressRefused } from './core/address-refused';
import { AddressRules } from './core/address-rules';
import { hostOf, resolvable } from './core/url-host';
import { UPSTREAM_OPTIONS, type UpstreamOptions } from './upstream.options';

/** A refused host is named in the log this often at most; probes and requests may come by the thousand. */
const LOG_EVERY_MS = 60_000;
const MAX_LOGGED = 1000;

/**
 * Says where workers may be, when one registers and again at every connect: a name may resolve to one
 * address today and to another tomorrow. Connections that exist are not looked at.
 */
@Injectable()
export class WorkerAddressGuard implements WorkerAddresses {
  private readonly log = new Logger('upstream');
  private readonly rules: AddressRules;
  private readonly resolve: LookupFunction;
  private readonly refusals: MetricFamily<CounterCell> | undefined;
  private readonly logged = new Map<string, number>();

  constructor(
    @Inject(UPSTREAM_OPTIONS) options: UpstreamOptions,
    @Optional() @Inject(METRICS) metrics?: Metrics,
  ) {
    this.rules = new AddressRules(options.allowCidrs, options.denyCidrs);
    this.resolve = options.lookup ?? systemResolver;
    this.refusals = metrics?.counter({
      name: 'smg_worker_address_refusals_total',
      help: 'Worker addresses refused, when a worker registers or when a connection is made.',
      labels: ['stage'],
    });
  }

  refusalOf(url: string): string | undefined {
    const place = hostOf(url);
    if (place === undefined) return 'the worker URL cannot be read';
    return place.isAddress ? this.refusalAtRegistration(place.host, place.host) : undefined;
  }

  async check(url: string): Promise<string | undefined> {
    const place = hostOf(url);
    if (place === undefined || place.isAddress) return this.refusalOf(url);
    const { host } = place;
    const addresses = await new Promise<readonly LookupAddress[]>((done) => {
      this.resolve(host, { all: true }, (error, found, family) => {
        done(error === null ? listOf(found, family) : []);
      });
    });
    for (const { address } of addresses) {
      const why = this.refusalAtRegistration(host, address);
      if (why !== undefined) return why;
    }
    return undefined;
  }

  /** Judges a host that is an address, as sockets take it. Names pass: {@link lookup} judges them. */
  connectRefusal(host: string): AddressRefused | undefined {
    return isIP(host) === 0 ? undefined : this.refusalAtConnect(host, host);
  }

  /**
   * Resolves a name for a connection and leaves out every address that is refused, so that none of
   * those that are tried can be one; when nothing is left the connection fails.
   */
  readonly lookup: LookupFunction = (name, options, callback) => {
    this.resolve(resolvable(name), { ...options, all: true }, (error, found, family) => {
      if (error !== null) {
        callback(error, '', 0);
        return;
      }
      const kept: LookupAddress[] = [];
      let refusal: AddressRefused | undefined;
      for (const entry of listOf(found, family)) {
        const why = this.refusalAtConnect(name, entry.address);
        if (why === undefined) kept.push(entry);
        else refusal ??= why;
      }
      const [first] = kept;
      if (first === undefined) {
        callback(refusal ?? new AddressRefused(`${name} has no address`), '', 0);
      } else if (options.all === true) callback(null, kept);
      else callback(null, first.address, first.family);
    });
  };

  private refusalAtRegistration(host: string, address: string): string | undefined {
    const why = this.rules.refusalOf(address);
    if (why === undefined) return undefined;
    this.refusals?.cell('registration').inc();
    return host === address
      ? `no worker may be at ${address}: ${why}`
      : `no worker may be at ${host}, which resolves to ${address}: ${why}`;
  }

  private refusalAtConnect(host: string, address: string): AddressRefused | undefined {
    const why = this.rules.refusalOf(address);
    if (why === undefined) return undefined;
    this.refusals?.cell('connect').inc();
    const text = `not connected to ${host === address ? host : `${host} at ${address}`}: ${why}`;
    if (this.isNews(host)) this.log.warn(text);
    return new AddressRefused(text);
  }

  private isNews(host: string): boolean {
    const now = Date.now();
    if (now - (this.logged.get(host) ?? 0) < LOG_EVERY_MS) return false;
    if (this.logged.size >= MAX_LOGGED) this.logged.clear();
    this.logged.set(host, now);
    return true;
  }
}

/** Looked up on each call, as the resolver of a process may be replaced. */
const systemResolver: LookupFunction = (name, options, callback) => {
  systemLookup(name, options, callback);
};

/** What a resolver answered: a list when asked for all, but one that ignores the wish gives one. */
function listOf(
  found: string | readonly LookupAddress[],
  family: number | undefined,
): readonly LookupAddress[] {
  return typeof found === 'string' ? [{ address: found, family: family ?? isIP(found) }] : found;
}
