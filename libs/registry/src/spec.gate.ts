import { Inject, Injectable } from '@nestjs/common';
import { type WorkerSpecWire } from '@smg/protocol';
import {
  ENGINE_CATALOG,
  WORKER_ADDRESSES,
  type EngineCatalog,
  type WorkerAddresses,
} from '@smg/plugin-api';
import { type RegistryOptions } from './core/registry-options';
import { badRequest } from './core/worker-api-error';
import { defineWorker, type WorkerDefinition } from './core/worker-definition';
import { parseWorkerUrl, type WorkerAddress } from './core/worker-url';
import { REGISTRY_OPTIONS } from './registry.tokens';

/** What a specification must satisfy before any work is queued for it. */
@Injectable()
export class SpecGate {
  constructor(
    @Inject(REGISTRY_OPTIONS) private readonly options: RegistryOptions,
    @Inject(ENGINE_CATALOG) private readonly catalog: EngineCatalog,
    @Inject(WORKER_ADDRESSES) private readonly addresses: WorkerAddresses,
  ) {}

  /** Ranks are routed to one by one. */
  get isDpAware(): boolean {
    return this.options.dpAware;
  }

  /** @throws WorkerApiError BAD_REQUEST */
  addressOf(spec: WorkerSpecWire): WorkerAddress {
    const parsed = parseWorkerUrl(spec.url, spec.dp_rank);
    if (!parsed.ok) throw badRequest(parsed.message);
    const { address } = parsed;
    if (address.connectionMode !== 'http' || (spec.connection_mode ?? 'http') !== 'http') {
      throw badRequest('only http:// and https:// workers are supported');
    }
    // A name is resolved by the registration itself.
    const refusal = this.addresses.refusalOf(address.baseUrl);
    if (refusal !== undefined) throw badRequest(refusal);
    if (address.rank !== undefined && spec.dp_size !== undefined && address.rank >= spec.dp_size) {
      throw badRequest(`rank ${address.rank} is out of range: dp_size is ${spec.dp_size}`);
    }
    const runtime = spec.runtime_type ?? 'unspecified';
    if (runtime !== 'unspecified' && this.catalog.byName(runtime) === undefined) {
      const known = this.catalog.all().map((adapter) => adapter.name);
      throw badRequest(`runtime_type must be one of: unspecified, ${known.join(', ')}`);
    }
    return address;
  }

  /** A definition made without asking the engine. */
  define(spec: WorkerSpecWire, address: WorkerAddress): WorkerDefinition {
    return defineWorker(spec, address, this.options);
  }
}
