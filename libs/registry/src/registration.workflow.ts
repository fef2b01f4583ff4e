import { Inject, Injectable, Logger } from '@nestjs/common';
import { type WorkerSpecWire } from '@smg/protocol';
import {
  ENGINE_CATALOG,
  WORKER_ADDRESSES,
  type EngineCatalog,
  type EngineFacts,
  type WorkerAddresses,
} from '@smg/plugin-api';
import { applyFacts } from './core/apply-facts';
import { unlessAborted } from './core/unless-aborted';
import { sleep } from './core/clock';
import { recogniseEngine } from './core/recognise-engine';
import { type RegistryOptions } from './core/registry-options';
import { defineWorker, type WorkerDefinition } from './core/worker-definition';
import { effectiveSettings } from './core/worker-settings';
import { parseWorkerUrl, type WorkerAddress } from './core/worker-url';
import { EngineQuestions, failureOf, type EngineContact } from './engine.questions';
import { REGISTRY_OPTIONS, REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';

/** One metadata question. Source: SMG contract 3.6. */
const METADATA_TIMEOUT_MS = 10_000;
/** Part of the start-up budget spent on waiting for the engine; the rest is for metadata. */
const DETECTION_SHARE = 0.9;

/**
 * From a specification to definitions that can be registered. Law: SMG contract 3.4: wait until the
 * engine is healthy, find out what it is, read its metadata, and, when ranks are routed to one by
 * one, make a worker of each.
 */
@Injectable()
export class RegistrationWorkflow {
  readonly #log = new Logger('registry');

  constructor(
    @Inject(REGISTRY_OPTIONS) private readonly options: RegistryOptions,
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
    @Inject(ENGINE_CATALOG) private readonly catalog: EngineCatalog,
    @Inject(WORKER_ADDRESSES) private readonly addresses: WorkerAddresses,
    private readonly engines: EngineQuestions,
  ) {}

  /**
   * @param note is told why the engine is not healthy yet, each time it was asked.
   * @throws Error with a message fit for `job_status`, or the reason of `signal`.
   */
  async prepare(
    spec: WorkerSpecWire,
    address: WorkerAddress,
    signal: AbortSignal,
    note: (message: string) => void,
  ): Promise<readonly WorkerDefinition[]> {
    const contact: EngineContact = {
      baseUrl: address.baseUrl,
      apiKey: spec.api_key,
      timeoutMs: METADATA_TIMEOUT_MS,
      signal,
    };
    await this.#untilHealthy(spec, contact, signal, note);
    const runtime = await this.#runtimeOf(spec, contact);
    const facts = await this.#discover(runtime, contact);
    signal.throwIfAborted();
    const complete: WorkerSpecWire = {
      ...applyFacts(spec, facts),
      ...(runtime === undefined ? {} : { runtime_type: runtime }),
    };
    return this.#expand(complete, address).map((rank) =>
      defineWorker(rank.spec, rank.address, this.options),
    );
  }

  async #untilHealthy(
    spec: WorkerSpecWire,
    contact: EngineContact,
    signal: AbortSignal,
    note: (message: string) => void,
  ): Promise<void> {
    const { clock } = this.runtime;
    const { endpoint } = this.options.health;
    const { health } = effectiveSettings(spec, this.options);
    const budgetMs = this.options.startupTimeoutSecs * 1000 * DETECTION_SHARE;
    const deadline = clock.now() + budgetMs;
    const probe = { ...contact, timeoutMs: Math.min(health.timeoutMs, budgetMs) };
    let told: string | undefined;
    for (let attempt = 1; ; attempt++) {
      // Each time: a name that does not resolve yet may later resolve to a place it must not.
      const refusal = await unlessAborted(this.addresses.check(contact.baseUrl), signal);
      if (refusal !== undefined) throw new Error(refusal);
      const outcome = await this.engines.fault(probe, endpoint);
      signal.throwIfAborted();
      if (outcome === undefined) return;
      const isLast = attempt >= (spec.max_connection_attempts ?? Number.POSITIVE_INFINITY);
      const left = deadline - clock.now();
      if (isLast || left <= 0) {
        throw new Error(`no healthy engine after ${attempt} attempts: ${outcome}`);
      }
      note(`waiting for the engine: ${outcome}`);
      if (outcome !== told) this.#log.warn(`waiting for ${contact.baseUrl}: ${outcome}`);
      told = outcome;
      await sleep(clock, Math.min(left, this.options.startupCheckIntervalSecs * 1000), signal);
    }
  }

  async #runtimeOf(spec: WorkerSpecWire, contact: EngineContact): Promise<string | undefined> {
    const named = spec.runtime_type;
    if (named !== undefined && named !== 'unspecified') return named;
    return (await recogniseEngine(this.catalog.all(), this.engines.asker(contact)))?.name;
  }

  async #discover(
    runtime: string | undefined,
    contact: EngineContact,
  ): Promise<EngineFacts | undefined> {
    const adapter = runtime === undefined ? undefined : this.catalog.byName(runtime);
    try {
      return await adapter?.discover(this.engines.asker(contact));
    } catch (error) {
      this.#log.warn(`no metadata of ${contact.baseUrl}: ${failureOf(error)}`);
      return undefined;
    }
  }

  #expand(spec: WorkerSpecWire, address: WorkerAddress): readonly RankSpec[] {
    const reported = Number(spec.labels?.['dp_size'] ?? Number.NaN);
    const size = spec.dp_size ?? (reported > 0 ? reported : undefined);
    if (address.rank !== undefined) {
      if (size !== undefined && address.rank >= size) {
        throw new Error(`rank ${address.rank} is out of range: the engine has ${size} ranks`);
      }
      return [{ spec: size === undefined ? spec : { ...spec, dp_size: size }, address }];
    }
    if (!this.options.dpAware) return [{ spec, address }];
    if (size === undefined || !Number.isInteger(size) || size > MAX_RANKS) {
      throw new Error('the engine reports no dp_size, which --dp-aware needs');
    }
    return Array.from({ length: size }, (_, rank) => ({
      spec: { ...spec, dp_size: size },
      address: rankOf(address, rank),
    }));
  }
}

/** Far above any deployment; keeps a wrong answer from filling the registry. */
const MAX_RANKS = 4096;

interface RankSpec {
  readonly spec: WorkerSpecWire;
  readonly address: WorkerAddress;
}

function rankOf(address: WorkerAddress, rank: number): WorkerAddress {
  const parsed = parseWorkerUrl(address.baseUrl, rank);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.address;
}
